import Glibc

/// A directory that is looked into and not touched. What would write is refused; what the store otherwise does on the side
/// when it reads, such as making durable what is there, is left out.
final class ReadOnlyDirectory {
    let path: String
    /// nil if there is no such directory.
    private let directory: Int32?

    init(path: String) throws(KeyFileError) {
        self.path = path
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 || errno == ENOENT else { throw .system(.open, path: path, errno: errno) }
        directory = descriptor >= 0 ? descriptor : nil
    }

    deinit { directory.map(close) }

    /// Whether another process has the store in this directory open.
    ///
    /// Asks with a shared lock that is given back at once. An agent that starts in this very moment would be refused.
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
        // A pipe would block without O_NONBLOCK; it is refused below.
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

    /// Only looks: a mode that lets others in cannot be corrected here.
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
