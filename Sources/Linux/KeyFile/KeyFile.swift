import AgentModel
import Glibc

/// The device's networks in a file or on a flash chip: always complete, encrypted, and safe against power loss
/// (Docs/contributor/key-file.md). Not `Sendable`: a commit blocks the thread until the data is on the medium, some
/// milliseconds on an SD card.
public final class KeyFile {
    /// Range of the `maximumBackups` setting.
    public static let allowedMaximum = 1...10

    public private(set) var state: StoredState
    /// Problems found when the store was opened, normally none.
    public private(set) var report: [StoreFinding]

    private let log: RecordLog
    private let maximumBackups: Int
    private let source: any RootKeySource
    private var anchor: RollbackDetector?

    /// - Parameters:
    ///   - path: name of the medium in messages.
    ///   - findings: problems of the medium.
    ///   - now: returns the clock in seconds since 1970.
    ///   - version: 2 writes the older format, in tests.
    package init(
        on medium: any Medium, path: String, findings: [StoreFinding] = [], maximumBackups: Int,
        rootKey source: any RootKeySource, anchor: FileAnchor? = nil,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), now: @escaping () -> UInt32,
        version: UInt16 = RecordLog.currentVersion
    ) throws(KeyFileError) {
        guard Self.allowedMaximum.contains(maximumBackups) else { throw .maximumOutOfRange(maximumBackups) }
        let roots = try source.load()
        let log: RecordLog
        do {
            log = try RecordLog(
                medium: medium, roots: roots?.all ?? [], path: path, random: random, now: now, version: version)
        } catch .wrongRootKey(_) where roots == nil {
            throw .noRootKey(source: source.source)
        }
        self.log = log
        self.maximumBackups = maximumBackups
        self.source = source
        self.anchor = anchor.map { RollbackDetector($0) }
        report = findings + (roots?.findings ?? []) + log.report
        if let state = StoredState(cells: log.cells, findings: &report) {
            self.state = state
        } else {
            state = StoredState()
            report.append(.impossibleContent)
        }
        // The order matters: the anchor may need the former key to be read.
        report += self.anchor?.compare(log, roots: roots?.all ?? []) ?? []
        if let roots { finishKeyChange(roots) }
    }

    /// Stores a new state. After the return it survives a power loss; if this throws, the old state stays. Writes
    /// nothing if nothing has changed.
    public func commit(_ new: StoredState) throws(KeyFileError) {
        let new = new.normalised()
        guard new.backups.count <= maximumBackups || new.backups.map(\.ssid) == state.backups.map(\.ssid) else {
            throw .tooManyBackups(count: new.backups.count, maximum: maximumBackups)
        }
        try new.validate(replacing: state)
        guard new != state else { return try log.commit(log.cells) }
        if !log.hasRoot { log.useFirstRoot(try source.makeFirst()) }
        try log.commit(new.cells(keepingSlotsOf: log.cells))
        state = new
        anchor?.follow(log)
    }

    package var usage: RecordLog.Usage { log.usage }

    // MARK: Root keys

    /// Changes the root key at its current place. An interrupted change is finished or undone at the next opening.
    package func changeRootKey(to new: Secret) throws(KeyFileError) {
        // Settles a doubtful sector under an earlier prepared key before that key is replaced.
        try log.commit(log.cells)
        try source.prepare(new)
        try log.rekey(to: new)
        // Before the former key is removed, because the anchor needs it.
        try anchor?.advance(to: log)
        try source.adoptPrepared()
        try log.eraseFormerKeySectors()
    }

    /// Changes to the root key of another source, and creates one if it has none. Afterwards the store opens only with
    /// that source; after an interruption, with one of the two.
    package func changeRootKey(to other: any RootKeySource) throws(KeyFileError) {
        let new = if let keys = try other.load() { keys.current } else { try other.makeFirst() }
        try log.rekey(to: new)
        try anchor?.advance(to: log)
        try log.eraseFormerKeySectors()
    }

    private func finishKeyChange(_ roots: RootKeys) {
        // The newest sector's key must be certain first.
        guard let prepared = roots.prepared, let active = log.activeRoot, log.isSettled else { return }
        // The anchor may still need the former key.
        guard anchor?.isUpToDate(with: log) ?? true else { return }
        do {
            if active == prepared {
                try source.adoptPrepared()
                if !report.contains(.keyChangeFinished) { report.append(.keyChangeFinished) }
            } else {
                try source.discardPrepared()
                report.append(.keyChangeAbandoned)
            }
        } catch {
            report.append(.postponed(error))
        }
    }
}

extension KeyFile {
    /// Opens the store at `path`: a file, a flash partition (/dev/mtdN) or a block device. Creates a missing directory
    /// (mode 0700). The first commit creates the file, and the root key if altnet owns it.
    /// - Parameters:
    ///   - path: a file needs a directory without other stores, because the directory is locked.
    ///   - maximumBackups: in `allowedMaximum`. A longer stored list is kept until it is changed.
    package static func open(
        path: String, maximumBackups: Int, rootKey: any RootKeySource, anchor: FileAnchor? = nil
    ) throws(KeyFileError) -> KeyFile {
        if let device = try DeviceMedium.open(path: path) {
            return try KeyFile(
                on: device, path: path, maximumBackups: maximumBackups, rootKey: rootKey, anchor: anchor,
                now: secondsSince1970)
        }
        guard let (folder, name) = split(path) else { throw .invalidPath(path) }
        let directory = try StoreDirectory(path: folder)
        try directory.lock()
        let medium = try FileMedium(name: name, in: directory)
        return try KeyFile(
            on: medium, path: path, findings: medium.findings, maximumBackups: maximumBackups, rootKey: rootKey,
            anchor: anchor, now: secondsSince1970)
    }

    private static func secondsSince1970() -> UInt32 { UInt32(clamping: time(nil)) }

    /// Splits a path at its last slash; nil if it is not the path of a file.
    package static func split(_ path: String) -> (directory: String, name: String)? {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else { return nil }
        guard let slash else { return (".", name) }
        var directory = path[..<slash]
        while directory.last == "/" { directory.removeLast() }
        return (directory.isEmpty ? "/" : String(directory), name)
    }
}

extension KeyFile {
    package func renewRootKey() throws(KeyFileError) {
        var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        try changeRootKey(to: RootKeys.makeRandom(&random))
    }
}
