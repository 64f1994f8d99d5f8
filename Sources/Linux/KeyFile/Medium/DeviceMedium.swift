import CLinux
import Glibc

package enum DeviceMedium {
    /// Opens the device exclusively. `path` may be a symbolic link, such as one in /dev/disk/by-partlabel.
    /// - Returns: nil if `path` is not a device.
    package static func open(path: String) throws(KeyFileError) -> (any Medium)? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            // Refuse to create a regular file in /dev, which the next start of the system would remove.
            guard !path.hasPrefix("/dev/") || path.hasPrefix("/dev/shm/") else {
                throw .system(.open, path: path, errno: ENOENT)
            }
            return nil
        }
        let major = Int32(gnu_dev_major(status.st_rdev))
        switch status.st_mode & S_IFMT {
        case S_IFCHR:
            // Do not open other devices: opening /dev/watchdog starts the watchdog.
            guard major == MTD_CHAR_MAJOR else {
                throw .unsuitableDevice(path: path, problem: "it is not a flash chip")
            }
            return try FlashMedium(path: path)
        case S_IFBLK:
            // mtdblock rewrites the whole erase block for each change, so a power loss can destroy all of it.
            guard major != MTD_BLOCK_MAJOR else {
                let problem = "its driver loses data at a power loss: use /dev/mtd\(gnu_dev_minor(status.st_rdev))"
                throw .unsuitableDevice(path: path, problem: problem)
            }
            return try BlockMedium(path: path)
        default: return nil
        }
    }
}

extension Geometry {
    /// Creates a geometry with as many sectors as device and format allow.
    init(of device: borrowing StorageDevice, sectorSize: Int, writeUnit: Int) throws(KeyFileError) {
        let size = try device.size
        let count = min(max(size / sectorSize, Self.sectorCounts.lowerBound), Self.sectorCounts.upperBound)
        guard let geometry = Geometry(sectorSize: sectorSize, sectorCount: count, writeUnit: writeUnit) else {
            let problem = "it has sectors of \(sectorSize) bytes that are written \(writeUnit) at a time"
            throw .unsuitableDevice(path: device.path, problem: problem)
        }
        guard geometry.size <= size else {
            throw .tooSmall(path: device.path, bytes: size, needed: geometry.size)
        }
        self = geometry
    }
}

/// An open device, with the system calls that raw flash and block devices share. Its release closes the device.
struct StorageDevice: ~Copyable {
    let path: String
    private let descriptor: Int32
    let isReadOnly: Bool

    /// Opens the device for reading and writing, or only for reading if writing is not allowed.
    /// - Parameter flags: additional flags of open(2).
    init(path: String, flags: Int32 = 0) throws(KeyFileError) {
        let writable = Self.open(path, flags | O_RDWR)
        // The kernel returns EACCES for write-protected flash too.
        let isReadOnly = writable < 0 && [EROFS, EACCES, EPERM].contains(errno)
        let descriptor = isReadOnly ? Self.open(path, flags | O_RDONLY) : writable
        guard descriptor >= 0 else { throw .system(.open, path: path, errno: errno) }
        // Set the properties last: if a later statement threw an error, Swift 6.2 would release the path twice.
        self.path = path
        self.descriptor = descriptor
        self.isReadOnly = isReadOnly
    }

    private static func open(_ path: String, _ flags: Int32) -> Int32 {
        retrying { Glibc.open(path, flags | O_CLOEXEC) }
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Locks the device for the lifetime of this value (flock(2)).
    func lock() throws(KeyFileError) {
        do {
            _ = try attempt(.lock) { flock($0, LOCK_EX | LOCK_NB) }
        } catch .system(_, _, EWOULDBLOCK) {
            throw .inUse(path: path)
        }
    }

    /// Size of the device in bytes.
    var size: Int {
        // BLKGETSIZE64 does not support flash, and MEMGETINFO is limited to 4 GiB.
        get throws(KeyFileError) { Int(try attempt(.open) { lseek($0, 0, SEEK_END) }) }
    }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try attempt(.read) { pread($0, rest.baseAddress, rest.count, off_t(offset + done)) }
            guard count > 0 else { throw .system(.read, path: path, errno: EIO) }
            done += count
        }
    }

    /// Writes all bytes, padded to `size` with `0xff`, which leaves flash unchanged.
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

    func attempt<Value: SignedInteger>(
        _ attempt: KeyFileError.Attempt, _ call: (Int32) -> Value
    ) throws(KeyFileError) -> Value {
        let result = retrying { call(descriptor) }
        guard result >= 0 else { throw .system(attempt, path: path, errno: errno) }
        return result
    }
}

/// A store on a block device, such as a partition of an SD card or disk. Its sectors need no erasure.
package final class BlockMedium: Medium {
    package let geometry: Geometry
    package let isPresent = true
    package let isRewritable = true
    private let device: StorageDevice
    private let isReadOnly: Bool

    init(path: String) throws(KeyFileError) {
        do {
            // Without O_CREAT, O_EXCL refuses a mounted or otherwise used block device and reserves it (open(2)).
            // flock(2) would conflict with udev, which inspects a device after each writer.
            device = try StorageDevice(path: path, flags: O_EXCL)
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
