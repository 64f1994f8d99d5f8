import Agent
import AgentModel
import AppProtocol
import Glibc
import KeyFile

/// A device's files: the state directory, which is its agent's user's, and the root key, which may be root's.
struct DeviceFiles {
    let settings: AgentSettings
    let place: StorePlace
    /// The owner of the state directory, nil for this process's user.
    let owner: Account?

    /// - Parameter owner: nil for the present owner of the state directory.
    init(_ settings: AgentSettings, _ place: StorePlace, owner name: String?) throws {
        self.settings = settings
        self.place = place
        var status = stat()
        let found = lstat(settings.stateDirectory, &status) == 0 ? status : nil
        guard found.map({ $0.st_mode & S_IFMT == S_IFDIR }) ?? true else {
            throw CommandFailure(.badData, "\(settings.stateDirectory) is no directory")
        }
        let account: Account? =
            if let name { try Account(name: name) } else { try found.map { try Account(number: $0.st_uid) } }
        owner = account?.user == geteuid() ? nil : account
        guard let owner, geteuid() != 0 else { return }
        throw CommandFailure(
            .notPermitted, "\(settings.stateDirectory) is for the user \(owner.name): run as root, or as that user")
    }

    var state: any FileOperations {
        get throws(KeyFileError) { try Folder.openForReading(settings.stateDirectory) }
    }

    /// Does something in the state directory with its owner's rights.
    func inState<Value>(_ body: (any FileOperations) throws -> Value) throws -> Value {
        try acting { try body(try Folder.open(settings.stateDirectory)) }
    }

    func acting<Value>(_ body: () throws -> Value) throws -> Value {
        guard let owner else { return try body() }
        return try owner.acting(body)
    }

    /// Opens the store as its agent will, which may not be able to read the root key's file by itself.
    func openStore() throws -> KeyFile {
        let source = try place.rootKey.source()
        guard let keys = try source.load() else { throw KeyFileError.noRootKey(source: source.source) }
        return try acting {
            try KeyFile.open(
                path: place.path, maximumBackups: settings.maximumBackups,
                rootKey: HeldRootKey(keys, source: source.source),
                anchor: try place.anchorPath.map { path throws(KeyFileError) in try FileAnchor(path: path) })
        }
    }

    /// Makes the root key where there is none: in the state directory it is the owner's, elsewhere it is whose this is.
    func makeRootKey() throws {
        guard case .file(let path) = place.rootKey else { return }
        let isInState = KeyFile.split(path)?.directory == settings.stateDirectory
        if isInState {
            _ = try acting { try place.rootKey.source().makeFirst() }
        } else {
            _ = try place.rootKey.source().makeFirst()
        }
    }

    // MARK: The state directory

    /// Makes the state directory where it is missing, and gives it and the device's files in it to the owner, who may
    /// have got them from root at a bench.
    func handOver() throws {
        let path = settings.stateDirectory
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw KeyFileError.system(.makeDirectory, path: path, errno: errno)
        }
        guard let owner else { return }
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard directory >= 0 else { throw KeyFileError.system(.open, path: path, errno: errno) }
        defer { close(directory) }
        var status = stat()
        fstat(directory, &status)
        if status.st_uid != owner.user {
            // A directory that others can read is no state directory, even if a setting names it.
            guard status.st_uid == 0, status.st_mode & 0o077 == 0 else {
                throw CommandFailure(
                    .failed,
                    "\(path) is not \(owner.name)'s, and not root's alone: chown and chmod 700 it if it is meant")
            }
            guard fchown(directory, owner.user, owner.group) == 0, fsync(directory) == 0 else {
                throw KeyFileError.system(.write, path: path, errno: errno)
            }
        }
        for file in KeptFile.all where [.state, .store, .rootKey].contains(file.place) {
            for name in file.names { try handOver(name, in: directory, to: owner) }
        }
    }

    /// Gives root's own file to the owner. The file that is looked at is the one that is given away: the folder may be
    /// the owner's, who can put another file in its place at any time.
    private func handOver(_ name: String, in directory: Int32, to owner: Account) throws {
        // A pipe would block without O_NONBLOCK.
        let file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == 0, status.st_nlink == 1
        else { return }
        guard fchown(file, owner.user, owner.group) == 0 else {
            throw KeyFileError.system(.write, path: "\(settings.stateDirectory)/\(name)", errno: errno)
        }
    }

    // MARK: Provisioning

    /// Looks at the device and changes nothing.
    func inspect() throws -> Provisioning.Device {
        let hasRootKey = try place.rootKey.readOnlySource().load() != nil
        let found = try place.examine()
        var stored: StoredState?
        switch found.content {
        case .state(let state, _): stored = state
        case .refused(let error): throw error
        case .sealed where found.isPresent:
            throw CommandFailure(
                .badData,
                "there is a key file at \(place.path), and no root key at \(try place.rootKey.readOnlySource().source): put the "
                    + "root key back, or wipe what is left with 'altnet factory-reset'")
        case .sealed, .empty: break
        }
        return try Provisioning.Device(state: try state, hasRootKey: hasRootKey, stored: stored)
    }

    /// Makes what the device lacks.
    /// - Parameter store: stores networks, with the owner's rights; nil where there are none.
    /// - Returns: the device's identity from now on.
    func provide(
        _ provisioning: Provisioning, _ plan: Provisioning.Plan, storing store: ((KeyFile) throws -> Void)?
    ) throws -> DeviceIdentity {
        try handOver()
        if plan.rootKey == .made { try makeRootKey() }
        // Opened first, for it has more reasons to fail; but the identity must not be a random one if the power goes
        // now and the agent is started.
        let keyFile = store == nil ? nil : try openStore()
        let identity = try inState { try provisioning.provideIdentity(plan, in: $0) }
        if let store, let keyFile { try acting { try store(keyFile) } }
        return identity
    }

    // MARK: The reset

    /// - Throws: `inUse` where an agent has the store.
    func prepareReset(_ scope: FactoryReset.Scope, hasBegun: Bool) throws -> FactoryReset {
        let rootKey: RootKeyFile? = if case .file(let path) = place.rootKey { try RootKeyFile(path: path) } else { nil }
        let store = try acting { try StoreEraser(at: place, hasBegun: hasBegun) }
        return FactoryReset(
            scope, state: try acting { try Folder.open(settings.stateDirectory) }, rootKey: rootKey, store: store,
            settings: settings)
    }

    /// The outcome of a complete reset.
    struct ResetOutcome {
        let scope: FactoryReset.Scope
        let hadRootKey: Bool
        /// The parts that could not be destroyed.
        let left: [KeyFileError]
    }

    func carryOut(_ reset: FactoryReset) throws -> ResetOutcome {
        try acting { try reset.begin() }
        let hadRootKey = try reset.destroyRootKey()
        return ResetOutcome(scope: reset.scope, hadRootKey: hadRootKey, left: try acting { try reset.finish() })
    }

    /// Finishes what a power cut has left of a reset.
    /// - Returns: nil where there is nothing to finish.
    func finishReset() throws -> ResetOutcome? {
        guard let scope = try FactoryReset.underWay(in: try state) else { return nil }
        return try carryOut(prepareReset(scope, hasBegun: true))
    }
}

extension HostFailure: KeyFileFailure {
    var exitStatus: ExitStatus {
        switch self {
        case .system(let error) where [EPERM, EACCES].contains(error.errno): .notPermitted
        case .notRoot: .notPermitted
        default: .badData
        }
    }

    var advice: String { "\(self)" }
}

extension IdentityError: KeyFileFailure {
    var exitStatus: ExitStatus {
        switch reason {
        case .missing, .invalid: .badData
        case .alreadyThere: .failed
        case .notPermitted: .notPermitted
        case .system: .deviceFailure
        }
    }

    var advice: String { "\(self)" }
}

extension ProvisioningConflict: KeyFileFailure {
    var exitStatus: ExitStatus { if case .weakKey = self { .badData } else { .failed } }
    var advice: String { "\(self)" }
}
