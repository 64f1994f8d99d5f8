import CLinux
import Glibc

/// Paths of a device's store, its root key and its anchor.
package struct StorePlace: Sendable, Equatable {
    /// Path of a file, flash chip or block device.
    package var path: String
    package var rootKey: RootKeyPlace
    /// Path of the anchor's file; nil without one.
    package var anchorPath: String?

    package enum RootKeyPlace: Sendable, Equatable {
        case file(path: String)
        /// A systemd credential: a file of this name in `$CREDENTIALS_DIRECTORY`.
        case credential(name: String, directory: String)

        /// Returns the source that the agent uses. Reading it restricts the file's mode and creates a missing
        /// directory.
        package func source() throws(KeyFileError) -> any RootKeySource {
            switch self {
            case .file(let path): try RootKeyFile(path: path)
            case .credential(let name, let directory): try CredentialRootKey(name: name, directory: directory)
            }
        }

        /// Returns a source that changes nothing on disk.
        package func readOnlySource() throws(KeyFileError) -> any RootKeySource {
            guard case .file(let path) = self else { return try source() }
            guard let (directory, name) = KeyFile.split(path) else { throw .invalidPath(path) }
            return RootKeyFile(
                name: name, files: try ReadOnlyDirectory(path: directory), random: SystemRandomNumberGenerator())
        }
    }

    package init(path: String, rootKey: RootKeyPlace, anchorPath: String? = nil) {
        self.path = path
        self.rootKey = rootKey
        self.anchorPath = anchorPath
    }

    /// Opens the store for changes, and takes the agent's lock.
    package func open(maximumBackups: Int) throws(KeyFileError) -> KeyFile {
        try KeyFile.open(
            path: path, maximumBackups: maximumBackups, rootKey: try rootKey.source(),
            anchor: try anchorPath.map { path throws(KeyFileError) in try FileAnchor(path: path) })
    }
}

extension StorePlace {
    /// Reads the store without taking the lock and without changing anything.
    /// - Parameter usingRootKey: false to verify only checksums, as without a key.
    package func examine(usingRootKey: Bool = true) throws(KeyFileError) -> Examination {
        var last = try examineOnce(usingRootKey)
        // A running agent may write meanwhile. Two equal results in a row are consistent.
        for _ in 0..<4 {
            let again = try examineOnce(usingRootKey)
            if again == last { break }
            last = again
        }
        return last
    }

    private func examineOnce(_ usingRootKey: Bool) throws(KeyFileError) -> Examination {
        let roots = usingRootKey ? try rootKey.readOnlySource().load() : nil
        let anchor = try anchorPath.map { path throws(KeyFileError) in
            let (directory, name) = try Self.split(path)
            return FileAnchor(name: name, files: try ReadOnlyDirectory(path: directory))
        }
        let medium = try openForReading()
        let findings = (medium as? FileMedium)?.findings ?? []
        return try Examination(
            of: medium, roots: roots?.all, anchor: anchor, findings: findings + (roots?.findings ?? []), path: path)
    }

    private func openForReading() throws(KeyFileError) -> any Medium {
        if let device = try ReadOnlyDevice.open(path: path) { return device }
        let (directory, name) = try Self.split(path)
        return try FileMedium(name: name, in: try ReadOnlyDirectory(path: directory))
    }

    /// True if another process has opened the store, usually an agent.
    package func isInUse() throws(KeyFileError) -> Bool {
        if try ReadOnlyDevice.open(path: path) != nil { return ReadOnlyDevice.isLocked(path: path) }
        return try ReadOnlyDirectory(path: Self.split(path).directory).isLocked()
    }

    private static func split(_ path: String) throws(KeyFileError) -> (directory: String, name: String) {
        guard let parts = KeyFile.split(path) else { throw .invalidPath(path) }
        return parts
    }
}

/// A read-only directory. Refuses writing calls and omits side effects of reading, such as syncs.
final class ReadOnlyDirectory {
    let path: String
    /// Descriptor of the directory; nil if it does not exist.
    private let directory: Int32?

    init(path: String) throws(KeyFileError) {
        self.path = path
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 || errno == ENOENT else { throw .system(.open, path: path, errno: errno) }
        directory = descriptor >= 0 ? descriptor : nil
    }

    deinit { directory.map(close) }

    /// True if another process has opened the store in this directory. Takes a shared lock for a moment to test this.
    /// An agent that starts meanwhile retries.
    func isLocked() -> Bool {
        guard let directory else { return false }
        guard flock(directory, LOCK_SH | LOCK_NB) != 0 else {
            flock(directory, LOCK_UN)
            return false
        }
        return errno == EWOULDBLOCK
    }

    private func refusal(_ attempt: KeyFileError.Attempt, _ name: String) -> KeyFileError {
        .system(attempt, path: "\(path)/\(name)", errno: EROFS)
    }
}

extension ReadOnlyDirectory: FileOperations {
    func open(_ name: String, forWriting: Bool) throws(KeyFileError) -> Int32? {
        guard !forWriting else { throw refusal(.open, name) }
        guard let directory else { return nil }
        // O_NONBLOCK avoids blocking on a pipe, which is refused below.
        let descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .system(.open, path: "\(path)/\(name)", errno: errno) }
            return nil
        }
        guard mode(descriptor).map({ $0 & S_IFMT == S_IFREG }) == true else {
            close(descriptor)
            throw .notRegularFile(path: "\(path)/\(name)")
        }
        return descriptor
    }

    func size(_ descriptor: Int32) throws(KeyFileError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(.open, path: path, errno: errno) }
        return Int(status.st_size)
    }

    func read(
        _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(KeyFileError) -> Int {
        let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        guard count >= 0 else { throw .system(.read, path: path, errno: errno) }
        return count
    }

    func forgetCached(_ descriptor: Int32) {}

    func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool {
        guard mode(descriptor).map({ $0 & 0o077 == 0 }) == true else { throw refusal(.write, "") }
        return false
    }

    private func mode(_ descriptor: Int32) -> mode_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_mode : nil
    }

    func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    func synchronise(_ descriptor: Int32) {}
    func synchroniseDirectory() {}

    func create(_ name: String) throws(KeyFileError) -> Int32 { throw refusal(.create, name) }

    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(KeyFileError) -> Int {
        throw refusal(.write, "")
    }

    func rename(_ name: String, to newName: String) throws(KeyFileError) { throw refusal(.rename, name) }
    func link(_ name: String, to newName: String) throws(KeyFileError) { throw refusal(.rename, newName) }
    func remove(_ name: String) throws(KeyFileError) { throw refusal(.remove, name) }
}

/// Reads the store on a flash chip or block device, even while an agent has it open.
final class ReadOnlyDevice: Medium {
    let geometry: Geometry
    let isPresent = true
    let isRewritable: Bool
    private let device: StorageDevice
    let badSectors: Set<Int>

    static func open(path: String) throws(KeyFileError) -> ReadOnlyDevice? {
        var status = stat()
        guard stat(path, &status) == 0, [S_IFCHR, S_IFBLK].contains(status.st_mode & S_IFMT) else { return nil }
        let isFlash = status.st_mode & S_IFMT == S_IFCHR
        // Other devices are not opened: opening /dev/watchdog starts the watchdog.
        guard !isFlash || Int32(gnu_dev_major(status.st_rdev)) == MTD_CHAR_MAJOR else {
            throw .unsuitableDevice(path: path, problem: "it is not a flash chip")
        }
        return try ReadOnlyDevice(path: path, isFlash: isFlash)
    }

    private init(path: String, isFlash: Bool) throws(KeyFileError) {
        device = try StorageDevice(path: path)
        isRewritable = !isFlash
        guard isFlash else {
            geometry = try Geometry(
                of: device, sectorSize: Geometry.file.sectorSize, writeUnit: Geometry.file.writeUnit)
            badSectors = []
            return
        }
        let form = try FlashForm(of: device)
        (geometry, badSectors) = (form.geometry, form.badSectors)
    }

    /// True if another process has opened the device as its store.
    static func isLocked(path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        do throws(KeyFileError) {
            switch status.st_mode & S_IFMT {
            // The lock ends at once, with the device value.
            case S_IFCHR: try StorageDevice(path: path).lock()
            case S_IFBLK: _ = try StorageDevice(path: path, flags: O_EXCL)
            default: break
            }
            return false
        } catch .inUse {
            return true
        } catch .system(_, _, EBUSY) {
            return true
        } catch {
            return false
        }
    }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        // The store reads within one sector at a time.
        if badSectors.contains(offset / geometry.sectorSize) {
            buffer.initializeMemory(as: UInt8.self, repeating: 0xff)
        } else {
            try device.read(at: offset, into: buffer)
        }
    }

    private var refusal: KeyFileError { .system(.write, path: device.path, errno: EROFS) }

    func requireWritable() throws(KeyFileError) { throw refusal }
    func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) { throw refusal }
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) { throw refusal }
    func erase(sector: Int) throws(KeyFileError) { throw refusal }
    func synchronise() throws(KeyFileError) { throw refusal }
    func setAside() throws(KeyFileError) -> String? { throw refusal }
}
