import AgentModel
import Glibc

/// Stores the device's networks, encrypted, in a file or on a flash chip. Survives a power loss at any time
/// (Docs/contributor/key-file.md). Not `Sendable`: a commit blocks its thread until the data is on the medium, some
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
    ///   - path: the medium's name in messages.
    ///   - findings: problems already found with the medium.
    ///   - now: returns the clock in seconds since 1970.
    ///   - version: format version to write. Tests pass 2 to write the older format.
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
        // Read the anchor before the key change ends, because reading it may need the former key.
        report += self.anchor?.compare(log, roots: roots?.all ?? []) ?? []
        if let roots { finishKeyChange(roots) }
    }

    /// Stores a new state. Once this returns, the state survives a power loss. If this throws, the old state stays.
    /// Writes nothing if the state is unchanged.
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

    /// Throws the reason why the store is not writable, if any. Writes the state again if a failed commit left it in
    /// doubt, otherwise nothing.
    package func requireWritable() throws(KeyFileError) {
        try log.requireWritable()
        try log.commit(log.cells)
    }

    // MARK: Root keys

    /// Replaces the root key in its current source. The next opening finishes or undoes an interrupted change.
    package func changeRootKey(to new: Secret) throws(KeyFileError) {
        // Rewrite a state left in doubt. It may be under an earlier prepared key, which is replaced next.
        try log.commit(log.cells)
        try source.prepare(new)
        try log.rekey(to: new)
        // Update the anchor while the former key exists, because reading the anchor needs it.
        try anchor?.advance(to: log)
        try source.adoptPrepared()
        try log.eraseFormerKeySectors()
    }

    /// Re-encrypts the store with the root key of another source, and creates that key if it is missing. Afterwards the
    /// store opens only with that source. After an interruption, it opens with one of the two sources.
    package func changeRootKey(to other: any RootKeySource) throws(KeyFileError) {
        let new = if let keys = try other.load() { keys.current } else { try other.makeFirst() }
        try log.rekey(to: new)
        try anchor?.advance(to: log)
        try log.eraseFormerKeySectors()
    }

    private func finishKeyChange(_ roots: RootKeys) {
        // Wait until the newest sector is certain, and with it the key in use.
        guard let prepared = roots.prepared, let active = log.activeRoot, log.isSettled else { return }
        // Keep the former key while the anchor still needs it.
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
    ///   - path: path of the store. A file needs its own directory, because the lock is on the directory.
    ///   - maximumBackups: maximum number of backup networks, in `allowedMaximum`. A longer stored list stays until it
    ///     changes.
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

    /// Splits a path at its last slash. Returns nil if the path cannot name a file.
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
