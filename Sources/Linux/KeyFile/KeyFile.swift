import AgentModel
import Glibc

/// The device's networks in a file or on a flash chip: small, always complete, encrypted, safe against power loss at
/// any moment. Docs/key-file.md describes it.
///
/// Not `Sendable`: it belongs to one isolation domain, whose thread a commit blocks until the medium has the data (some
/// milliseconds on an SD card).
public final class KeyFile {
    /// The allowed values of the maximum of backups.
    public static let allowedMaximum = 1...10

    /// The state that was stored last.
    public private(set) var state: StoredState
    /// Problems found when the store was opened. Empty on an ordinary day.
    public private(set) var report: [Finding]

    private let log: RecordLog
    private let maximumBackups: Int
    private let source: any RootKeySource
    private var anchor: AnchorKeeper?

    /// - Parameters:
    ///   - path: what messages call the medium.
    ///   - findings: what was found amiss with the medium as such.
    ///   - now: the clock, in seconds since 1970.
    ///   - version: 2 for what an altnet from before would write, in tests.
    package init(
        on medium: any Medium, path: String, findings: [Finding] = [], maximumBackups: Int,
        rootKey source: any RootKeySource, anchor: (any RollbackAnchor)? = nil,
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
        self.anchor = anchor.map { AnchorKeeper($0) }
        report = findings + (roots?.findings ?? []) + log.report
        if let state = StoredState(cells: log.cells, findings: &report) {
            self.state = state
        } else {
            state = StoredState()
            report.append(.impossibleContent)
        }
        // In this order: an anchor under a key that is not there any more could not be read.
        report += self.anchor?.compare(log, roots: roots?.all ?? []) ?? []
        if let roots { finishKeyChange(roots) }
    }

    /// Replaces what is stored. When it returns, the new state survives a power cut; when it throws, the old state
    /// stands. Nothing is written if nothing is different.
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

    /// How much was written since the store was opened.
    package var usage: RecordLog.Usage { log.usage }

    // MARK: Root keys

    /// Puts the store under a new root key, kept where the present one is. Cut short at any moment, it is finished or
    /// undone when the store is opened next.
    package func changeRootKey(to new: Secret) throws(KeyFileError) {
        // A sector under a key that was prepared before may be in doubt: not before that is settled is it replaced.
        try log.commit(log.cells)
        try source.prepare(new)
        try log.rekey(to: new)
        // Before the former key is gone, which the anchor is under.
        try anchor?.advance(to: log)
        try source.adoptPrepared()
        try log.eraseFormerKeySectors()
    }

    /// Puts the store under the root key of another source, which makes one if it has none. Afterwards it opens with
    /// that source only; cut short, with one of the two.
    package func changeRootKey(to other: any RootKeySource) throws(KeyFileError) {
        let new = if let keys = try other.load() { keys.current } else { try other.makeFirst() }
        try log.rekey(to: new)
        try anchor?.advance(to: log)
        try log.eraseFormerKeySectors()
    }

    private func finishKeyChange(_ roots: RootKeys) {
        // Not before it is certain which of the two keys the newest sector is under.
        guard let prepared = roots.prepared, let active = log.activeRoot, log.isSettled else { return }
        // An anchor that is still under the former key needs it.
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
    /// Opens the store at `path`: a file, a flash chip's partition (/dev/mtdN) or a block device's. A directory that is
    /// missing is made (mode 0700); the file itself, and the root key if it is altnet's to make, are made by the first
    /// commit.
    /// - Parameters:
    ///   - path: a file in a directory that holds no other store, since it is the directory that is locked.
    ///   - maximumBackups: in `allowedMaximum`. A longer list that is already stored is kept until it is changed.
    package static func open(
        path: String, maximumBackups: Int, rootKey: any RootKeySource, anchor: (any RollbackAnchor)? = nil
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

    /// Splits a path at its last slash, or returns nil if it names no file.
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
    /// Puts the store under a new root key, made at random and kept where the present one is.
    package func renewRootKey() throws(KeyFileError) {
        var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        try changeRootKey(to: RootKeys.makeRandom(&random))
    }
}
