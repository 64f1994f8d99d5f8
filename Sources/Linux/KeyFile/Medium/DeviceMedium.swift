import CLinux
import Glibc

/// A store that has a device to itself: raw flash or a partition.
package enum DeviceMedium {
    /// Opens the device at `path`, which may be a symbolic link such as those in /dev/disk/by-partlabel, for this
    /// process alone.
    /// - Returns: nil if there is no device.
    package static func open(path: String) throws(KeyFileError) -> (any Medium)? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            // A file made there would be gone at the next start, and with it all that was stored.
            guard !path.hasPrefix("/dev/") || path.hasPrefix("/dev/shm/") else {
                throw .system(.open, path: path, errno: ENOENT)
            }
            return nil
        }
        let major = Int32(gnu_dev_major(status.st_rdev))
        switch status.st_mode & S_IFMT {
        case S_IFCHR:
            // Not even to be opened if it is anything else: opening /dev/watchdog starts the watchdog.
            guard major == MTD_CHAR_MAJOR else { throw .unsuitableDevice(path: path, problem: "it is no flash chip") }
            return try FlashMedium(path: path)
        case S_IFBLK:
            // mtdblock erases and writes the whole erase block for every change: a power cut would take all of it.
            guard major != MTD_BLOCK_MAJOR else {
                let problem = "its driver loses data in a power cut: use /dev/mtd\(gnu_dev_minor(status.st_rdev))"
                throw .unsuitableDevice(path: path, problem: problem)
            }
            return try BlockMedium(path: path)
        default: return nil
        }
    }
}

extension Geometry {
    /// As many sectors as there are on a device and as the format allows.
    init(of device: borrowing Device, sectorSize: Int, writeUnit: Int) throws(KeyFileError) {
        let size = try device.size
        let count = min(max(size / sectorSize, Self.sectorCounts.lowerBound), Self.sectorCounts.upperBound)
        guard let geometry = Geometry(sectorSize: sectorSize, sectorCount: count, writeUnit: writeUnit) else {
            let problem = "a store cannot have sectors of \(sectorSize) bytes that are written \(writeUnit) at a time"
            throw .unsuitableDevice(path: device.path, problem: problem)
        }
        guard geometry.size <= size else {
            throw .tooSmall(path: device.path, bytes: size, needed: geometry.size)
        }
        self = geometry
    }
}

/// A device that is open, and closes itself: the system calls that raw flash and block devices have in common.
struct Device: ~Copyable {
    let path: String
    private let descriptor: Int32
    let isReadOnly: Bool

    /// Opens for reading and writing, or for reading alone where that is all that is allowed.
    /// - Parameter flags: more flags for open(2).
    init(path: String, flags: Int32 = 0) throws(KeyFileError) {
        let writable = Self.open(path, flags | O_RDWR)
        // EACCES is also what the kernel says of a flash chip that is write-protected.
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

/// A store on a partition of an SD card or a disk: a block device, whose own controller does without erasing.
package final class BlockMedium: Medium {
    package let geometry: Geometry
    package let isPresent = true
    package let isRewritable = true
    private let device: Device
    private let isReadOnly: Bool

    init(path: String) throws(KeyFileError) {
        do {
            // open(2): without O_CREAT, O_EXCL refuses a block device that is mounted, a swap area or otherwise in use,
            // and keeps it for this process. A lock (flock(2)) would collide with udev's, which looks at a device after
            // every process that had it open for writing.
            device = try Device(path: path, flags: O_EXCL)
        } catch .system(_, _, EBUSY) {
            throw .inUse(path: path)
        }
        geometry = try Geometry(of: device, sectorSize: Geometry.file.sectorSize, writeUnit: Geometry.file.writeUnit)
        var isReadOnly: Int32 = 0
        _ = try device.attempt(.open) { block_get_read_only($0, &isReadOnly) }
        self.isReadOnly = device.isReadOnly || isReadOnly != 0
    }

    package func requireWritable() throws(KeyFileError) {
        guard !isReadOnly else { throw .system(.write, path: device.path, errno: EROFS) }
    }

    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        try device.read(at: offset, into: buffer)
    }

    package func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) {
        try append(bytes, at: geometry.start(of: sector))
    }

    package func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try device.write(bytes, padded: geometry.aligned(bytes.count), at: offset)
    }

    package func erase(sector: Int) throws(KeyFileError) {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        try device.write(nothing, padded: geometry.sectorSize, at: geometry.start(of: sector))
    }

    package func synchronise() throws(KeyFileError) {
        _ = try device.attempt(.synchronise) { fdatasync($0) }
    }

    package func forgetCached() {
        _ = try? device.attempt(.read) { posix_fadvise($0, 0, 0, POSIX_FADV_DONTNEED) }
    }

    package func setAside() throws(KeyFileError) -> String? { throw .foreignContent(path: device.path) }
}
