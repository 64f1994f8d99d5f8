import Glibc

/// A device that is open, and closes itself: the system calls that raw flash and block devices have in common.
struct Device: ~Copyable {
    let path: String
    private let descriptor: Int32
    let isReadOnly: Bool

    /// Opens for reading and writing, or for reading alone where that is all that is allowed.
    /// - Parameter flags: more flags for open(2).
    init(path: String, flags: Int32 = 0) throws(KeyFileError) {
        let writable = Self.open(path, flags | O_RDWR)
        // EACCES is also what the kernel says of a flash chip that nobody can write to.
        let isReadOnly = writable < 0 && [EROFS, EACCES, EPERM].contains(errno)
        let descriptor = isReadOnly ? Self.open(path, flags | O_RDONLY) : writable
        guard descriptor >= 0 else { throw .system(.open, path: path, errno: errno) }
        // Not before it can fail: Swift 6.2 would let go of the path twice.
        self.path = path
        self.descriptor = descriptor
        self.isReadOnly = isReadOnly
    }

    private static func open(_ path: String, _ flags: Int32) -> Int32 {
        retrying { Glibc.open(path, flags | O_CLOEXEC) }
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Keeps every other process from locking the device for as long as this lives (flock(2)).
    func lock() throws(KeyFileError) {
        do {
            _ = try attempt(.lock) { flock($0, LOCK_EX | LOCK_NB) }
        } catch .system(_, _, EWOULDBLOCK) {
            throw .inUse(path: path)
        }
    }

    /// In bytes.
    var size: Int {
        // Neither BLKGETSIZE64, which needs another call for flash, nor MEMGETINFO, whose size ends at 4 GiB.
        get throws(KeyFileError) { Int(try attempt(.open) { lseek($0, 0, SEEK_END) }) }
    }

    /// Fills the buffer with what is at `offset`.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try attempt(.read) { pread($0, rest.baseAddress, rest.count, off_t(offset + done)) }
            guard count > 0 else { throw .system(.read, path: path, errno: EIO) }
            done += count
        }
    }

    /// Writes all of the bytes, and `0xff`, which leaves flash as it is, up to a length of `size`.
    func write(_ bytes: UnsafeRawBufferPointer, padded size: Int, at offset: Int) throws(KeyFileError) {
        guard bytes.count < size else { return try write(bytes, at: offset) }
        var padded = WipedBuffer(capacity: size)
        padded.append(bytes)
        padded.append(repeatElement(0xff, count: padded.remaining))
        try padded.withBytes { whole throws(KeyFileError) in try write(whole, at: offset) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = try attempt(.write) { pwrite($0, rest.baseAddress, rest.count, off_t(offset + done)) }
            guard count > 0 else { throw .system(.write, path: path, errno: EIO) }
            done += count
        }
    }

    /// The result of a system call on the device's descriptor, or an error if it is -1.
    func attempt<Value: SignedInteger>(
        _ attempt: KeyFileError.Attempt, _ call: (Int32) -> Value
    ) throws(KeyFileError) -> Value {
        let result = retrying { call(descriptor) }
        guard result >= 0 else { throw .system(attempt, path: path, errno: errno) }
        return result
    }
}
