import Glibc

/// A directory with a lock that excludes a second agent. The directory itself is locked (flock(2)). So a store on a
/// read-only disk opens, and the file can be replaced. The kernel releases the lock when the process ends.
final class StoreDirectory {
    let path: String
    private let directory: Int32

    /// Opens the directory. Creates it and missing parents with mode 0700.
    init(path: String) throws(KeyFileError) {
        directory = try Self.openOrMake(path)
        self.path = path
    }

    init(existing path: String) throws(KeyFileError) {
        guard let descriptor = try Self.openIfThere(path) else {
            throw .system(.open, path: path, errno: ENOENT)
        }
        directory = descriptor
        self.path = path
    }

    /// Locks the directory for the lifetime of this object.
    func lock() throws(KeyFileError) {
        // Retry, because `altnet keyfile` takes the lock for a moment to test it.
        for attempt in 1...5 {
            guard retrying({ flock(directory, LOCK_EX | LOCK_NB) }) != 0 else { return }
            guard errno == EWOULDBLOCK else { throw .system(.lock, path: path, errno: errno) }
            if attempt < 5 { usleep(20_000) }
        }
        throw .inUse(path: path)
    }

    deinit { _ = Glibc.close(directory) }

    private static func openOrMake(_ path: String) throws(KeyFileError) -> Int32 {
        if let descriptor = try openIfThere(path) { return descriptor }
        try make(path)
        guard let descriptor = try openIfThere(path) else { throw .system(.open, path: path, errno: ENOENT) }
        return descriptor
    }

    private static func openIfThere(_ path: String) throws(KeyFileError) -> Int32? {
        let descriptor = retrying { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor < 0 else { return descriptor }
        let code = errno
        guard code == ENOENT else { throw .system(.open, path: path, errno: code) }
        return nil
    }

    /// Creates a directory and synchronises its parent. Otherwise a power loss could remove the store.
    private static func make(_ path: String) throws(KeyFileError) {
        guard let (parent, _) = KeyFile.split(path) else { throw .system(.makeDirectory, path: path, errno: ENOENT) }
        let descriptor = try openOrMake(parent)
        defer { _ = Glibc.close(descriptor) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .system(.makeDirectory, path: path, errno: errno)
        }
        try synchroniseDirectory(descriptor, path: parent)
    }

    private static func synchroniseDirectory(_ descriptor: Int32, path: String) throws(KeyFileError) {
        guard retrying({ fsync(descriptor) }) != 0 else { return }
        let code = errno
        // EINVAL: the file system does not support fsync(2) of directories.
        guard code == EINVAL else { throw .system(.synchronise, path: path, errno: code) }
    }

    private func attempt<Value: SignedInteger>(
        _ attempt: KeyFileError.Attempt, _ name: String? = nil, _ call: () -> Value
    ) throws(KeyFileError) -> Value {
        let result = retrying(call)
        guard result >= 0 else {
            let code = errno
            throw .system(attempt, path: name.map { "\(path)/\($0)" } ?? path, errno: code)
        }
        return result
    }
}

extension StoreDirectory: FileOperations {
    func open(_ name: String, forWriting: Bool) throws(KeyFileError) -> Int32? {
        // O_NONBLOCK avoids blocking on a pipe, which is refused below.
        let flags = (forWriting ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor: Int32
        do {
            descriptor = try attempt(.open, name) { openat(directory, name, flags) }
        } catch .system(_, _, ENOENT) {
            return nil
        } catch .system(_, _, EISDIR) {
            throw .notRegularFile(path: "\(path)/\(name)")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .notRegularFile(path: "\(path)/\(name)")
        }
        return descriptor
    }

    func create(_ name: String) throws(KeyFileError) -> Int32 {
        // Create a new file, because an existing one may have another mode or owner, or hard links.
        try remove(name)
        let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        return try attempt(.create, name) { openat(directory, name, flags, 0o600) }
    }

    func size(_ descriptor: Int32) throws(KeyFileError) -> Int {
        var status = stat()
        _ = try attempt(.open) { fstat(descriptor, &status) }
        return Int(status.st_size)
    }

    func read(
        _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(KeyFileError) -> Int {
        try attempt(.read) { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(KeyFileError) -> Int {
        try attempt(.write) { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
    }

    func synchronise(_ descriptor: Int32) throws(KeyFileError) {
        _ = try attempt(.synchronise) { fdatasync(descriptor) }
    }

    func forgetCached(_ descriptor: Int32) { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool {
        var status = stat()
        _ = try attempt(.open) { fstat(descriptor, &status) }
        guard status.st_mode & 0o077 != 0 else { return false }
        _ = try attempt(.open) { fchmod(descriptor, 0o600) }
        return true
    }

    func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    func rename(_ name: String, to newName: String) throws(KeyFileError) {
        _ = try attempt(.rename, name) { renameat(directory, name, directory, newName) }
    }

    func link(_ name: String, to newName: String) throws(KeyFileError) {
        try remove(newName)
        _ = try attempt(.rename, name) { linkat(directory, name, directory, newName, 0) }
    }

    func remove(_ name: String) throws(KeyFileError) {
        do {
            _ = try attempt(.remove, name) { unlinkat(directory, name, 0) }
        } catch .system(_, _, ENOENT) {}
    }

    func synchroniseDirectory() throws(KeyFileError) { try Self.synchroniseDirectory(directory, path: path) }
}

/// Repeats a system call after EINTR.
func retrying<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        guard result == -1, errno == EINTR else { return result }
    }
}
