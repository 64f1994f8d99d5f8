import CLinux
import Glibc

/// A store that has a device to itself: raw flash or a partition.
package enum DeviceMedium {
    /// Opens the device at `path`, which may be a symbolic link such as those in /dev/disk/by-partlabel, for this process
    /// alone.
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
