import Glibc

/// A file or directory, as system calls.
struct OpenFile: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String, _ flags: Int32) throws {
        self.path = path
        descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw Self.failure("open", path) }
    }

    deinit { close(descriptor) }

    /// Writes at the file's own position, or where it ends with `O_APPEND`.
    func write(_ bytes: [UInt8]) throws {
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Self.failure("write", path) }
    }

    func write(_ bytes: [UInt8], at offset: Int) throws {
        guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw Self.failure("write", path)
        }
    }

    /// In bytes.
    var size: Int {
        get throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw Self.failure("read", path) }
            return Int(status.st_size)
        }
    }

    func readAll() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: try size)
        guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { throw Self.failure("read", path) }
        return bytes
    }

    func synchronise() throws {
        guard fsync(descriptor) == 0 else { throw Self.failure("sync", path) }
    }

    func synchroniseData() throws {
        guard fdatasync(descriptor) == 0 else { throw Self.failure("sync", path) }
    }

    /// Has the kernel forget what it keeps of the file in memory, so that the disk is read.
    func dropCache() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    static func failure(_ attempt: String, _ path: String) -> BenchmarkError {
        BenchmarkError("cannot \(attempt) \(path): \(String(cString: strerror(errno)))")
    }
}
