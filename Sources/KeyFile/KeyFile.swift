import Glibc

/// The device's networks on disk: small, always complete, safe against power loss at any moment.
///
/// A commit writes the whole state to a new file, makes it durable, and gives it the old one's name; so there is never
/// less than one complete copy. Not `Sendable`: it belongs to one isolation domain, whose thread a commit blocks until
/// the disk has the data (some milliseconds on an SD card).
public final class KeyFile {
    /// What the maximum of backups can be set to.
    public static let allowedMaximum = 1...10

    /// What was stored last.
    public private(set) var state: StoredState
    /// What was found amiss when the store was opened. Empty on an ordinary day.
    public private(set) var report: [Finding]

    private let disk: any FileOperations
    private let names: Names
    private let maximumBackups: Int
    private var generation: UInt64
    private var repairs: [Repair]
    /// A failed commit may have left something behind that could not be taken back, so the disk may not hold `state`.
    private var mayDifferFromDisk = false

    /// Opens the store at `path`, making its directory (mode 0700) if it is missing; the file itself is made by the first
    /// commit. A damaged file is kept aside as `NAME.damaged` and said in `report`.
    /// - Parameter path: a file in a directory that holds no other store, since it is the directory that is locked.
    /// - Parameter maximumBackups: in `allowedMaximum`. A longer list that is already stored is kept until it is changed.
    public static func open(path: String, maximumBackups: Int) throws(KeyFileError) -> KeyFile {
        guard let (directory, name) = split(path) else { throw .invalidPath(path) }
        return try KeyFile(
            name: name, directory: directory, disk: StoreDirectory(path: directory), maximumBackups: maximumBackups)
    }

    init(
        name: String, directory: String, disk: any FileOperations, maximumBackups: Int
    ) throws(KeyFileError) {
        guard Self.allowedMaximum.contains(maximumBackups) else { throw .maximumOutOfRange(maximumBackups) }
        let names = Names(directory: directory, file: name)
        let recovery = try Recovery(reading: names, on: disk)
        self.names = names
        self.disk = disk
        self.maximumBackups = maximumBackups
        state = recovery.image?.state ?? StoredState()
        generation = recovery.image?.generation ?? 0
        report = recovery.findings
        repairs = recovery.repairs
        do { try repair() } catch { report.append(.repairPostponed(error)) }
    }

    /// Replaces what is stored. When it returns, the new state survives a power cut; when it throws, the old state stands.
    /// Nothing is written if nothing is different.
    public func commit(_ new: StoredState) throws(KeyFileError) {
        guard new != state || mayDifferFromDisk else { return }
        guard new.backups.count <= maximumBackups || new.backups == state.backups else {
            throw .tooManyBackups(count: new.backups.count, maximum: maximumBackups)
        }
        try new.validate()
        try repair()
        try replaceFile(with: new)
        do { try disk.synchroniseDirectory() } catch {
            // Nobody knows which of the two names a power cut would leave: bring the old state back under both.
            mayDifferFromDisk = true
            try? restoreFile()
            throw error
        }
        state = new
        mayDifferFromDisk = false
    }

    private func restoreFile() throws(KeyFileError) {
        try replaceFile(with: state)
        try disk.synchroniseDirectory()
        mayDifferFromDisk = false
    }

    private func replaceFile(with new: StoredState) throws(KeyFileError) {
        // Counted even if it fails: whatever a failed commit leaves behind is then older than the next one.
        generation &+= 1
        do {
            try write(Image(generation: generation, state: new).encoded(), to: names.temporary)
            try disk.rename(names.temporary, to: names.file)
        } catch {
            do {
                try disk.remove(names.temporary)
                try disk.synchroniseDirectory()
            } catch { mayDifferFromDisk = true }
            throw error
        }
    }

    private func write(_ content: borrowing WipedBuffer, to name: String) throws(KeyFileError) {
        let descriptor = try disk.create(name)
        defer { disk.close(descriptor) }
        try content.withBytes { bytes throws(KeyFileError) in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = try disk.write(UnsafeRawBufferPointer(rebasing: rest), to: descriptor)
                guard count > 0 else { throw .system(.write, path: "\(names.directory)/\(name)", errno: EIO) }
                rest = rest.dropFirst(count)
            }
        }
        try disk.synchronise(descriptor)
    }

    /// Does what opening found to be done. Each repair is forgotten only when it is done, so that nothing is written to a
    /// disk that is not in order.
    private func repair() throws(KeyFileError) {
        while let next = repairs.first {
            try next.carryOut(names, on: disk)
            repairs.removeFirst()
        }
    }
}

extension KeyFile {
    /// Splits a path at its last slash, or returns nil if it names no file.
    static func split(_ path: String) -> (directory: String, name: String)? {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else { return nil }
        guard let slash else { return (".", name) }
        var directory = path[..<slash]
        while directory.last == "/" { directory.removeLast() }
        return (directory.isEmpty ? "/" : String(directory), name)
    }

    /// The files of one store.
    struct Names {
        let directory: String
        let file: String
        var temporary: String { file + ".new" }
        var damaged: String { file + ".damaged" }
    }
}
