import Agent
import AgentModel
import AppProtocol
import Glibc
import KeyFile

/// A device's files: the state directory of the agent's user, and the root key, which may belong to root.
struct DeviceFiles {
    let settings: AgentSettings
    let place: StorePlace
    /// Owner of the state directory; nil if it is this process's user.
    let owner: SystemUser?

    /// - Parameter owner: name of the owner; nil for the current owner.
    /// - Throws: `CommandFailure` if the directory is unsuitable or this process may not act as its owner.
    init(_ settings: AgentSettings, _ place: StorePlace, owner name: String?) throws {
        self.settings = settings
        self.place = place
        var status = stat()
        let found = lstat(settings.stateDirectory, &status) == 0 ? status : nil
        guard found.map({ $0.st_mode & S_IFMT == S_IFDIR }) ?? true else {
            throw CommandFailure(.badData, "the state directory is not a directory: \(settings.stateDirectory)")
        }
        let account: SystemUser? =
            if let name { try SystemUser(name: name) } else { try found.map { try SystemUser(number: $0.st_uid) } }
        owner = account?.user == geteuid() ? nil : account
        guard let owner, geteuid() != 0 else { return }
        throw CommandFailure(
            .notPermitted, "\(settings.stateDirectory) belongs to the user \(owner.name): run as root or as this user")
    }

    var state: any FileOperations {
        get throws(KeyFileError) { try Folder.openForReading(settings.stateDirectory) }
    }

    /// Runs `body` in the state directory with its owner's rights.
    func inState<Value>(_ body: (any FileOperations) throws -> Value) throws -> Value {
        try acting { try body(try Folder.open(settings.stateDirectory)) }
    }

    func acting<Value>(_ body: () throws -> Value) throws -> Value {
        guard let owner else { return try body() }
        return try owner.acting(body)
    }

    /// Opens the store with the owner's rights. Reads the root key first, as the owner may not be able to read it.
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

    /// Creates a missing root key: with the owner's rights in the state directory, elsewhere with this process's
    /// rights.
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

    /// Creates a missing state directory. Gives the directory and the device's files in it to the owner, as root may
    /// have created them.
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
            // Refuse directories that others can read, even if a setting names them.
            guard status.st_uid == 0, status.st_mode & 0o077 == 0 else {
                throw CommandFailure(
                    .failed,
                    "\(path) belongs neither to \(owner.name) nor to root alone: if it is right, chown it and chmod 700"
                )
            }
            guard fchown(directory, owner.user, owner.group) == 0, fsync(directory) == 0 else {
                throw KeyFileError.system(.write, path: path, errno: errno)
            }
        }
        for file in PersistentFile.all where [.state, .store, .rootKey].contains(file.location) {
            for name in file.names { try handOver(name, in: directory, to: owner) }
        }
    }

    /// Gives a file of root to the owner. Checks and changes the same descriptor, as the folder's owner can replace the
    /// file at any time.
    private func handOver(_ name: String, in directory: Int32, to owner: SystemUser) throws {
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

    /// Reads the state of the device without changing it.
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
                "the key file \(place.path) has no root key at \(try place.rootKey.readOnlySource().source): "
                    + "restore the root key, or wipe the device with 'altnet factory-reset'")
        case .sealed, .empty: break
        }
        return try Provisioning.Device(state: try state, hasRootKey: hasRootKey, stored: stored)
    }

    /// Creates the missing files.
    /// - Parameter store: called with the owner's rights to store networks; nil if there are none.
    /// - Returns: the device's identity.
    func provide(
        _ provisioning: Provisioning, _ plan: Provisioning.Plan, storing store: ((KeyFile) throws -> Void)?
    ) throws -> DeviceIdentity {
        try handOver()
        if plan.rootKey == .made { try makeRootKey() }
        // Open the store first, as this step fails more often. Write the identity before the networks: otherwise, after
        // a power cut between both, the agent would start with a random identity.
        let keyFile = store == nil ? nil : try openStore()
        let identity = try inState { try provisioning.provideIdentity(plan, in: $0) }
        if let store, let keyFile { try acting { try store(keyFile) } }
        return identity
    }

    // MARK: The reset

    /// - Throws: `inUse` if an agent has the store open.
    func prepareReset(_ scope: FactoryReset.Scope, hasBegun: Bool) throws -> FactoryReset {
        let rootKey: RootKeyFile? = if case .file(let path) = place.rootKey { try RootKeyFile(path: path) } else { nil }
        let store = try acting { try StoreEraser(at: place, hasBegun: hasBegun) }
        return FactoryReset(
            scope, state: try acting { try Folder.open(settings.stateDirectory) }, rootKey: rootKey, store: store,
            settings: settings)
    }

    struct ResetOutcome {
        let scope: FactoryReset.Scope
        let hadRootKey: Bool
        let left: [KeyFileError]
    }

    func perform(_ reset: FactoryReset) throws -> ResetOutcome {
        try acting { try reset.begin() }
        let hadRootKey = try reset.destroyRootKey()
        return ResetOutcome(scope: reset.scope, hadRootKey: hadRootKey, left: try acting { try reset.finish() })
    }

    /// Finishes a reset that a power cut has interrupted.
    /// - Returns: nil if there is no such reset.
    func finishReset() throws -> ResetOutcome? {
        guard let scope = try FactoryReset.underWay(in: try state) else { return nil }
        return try perform(prepareReset(scope, hasBegun: true))
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
