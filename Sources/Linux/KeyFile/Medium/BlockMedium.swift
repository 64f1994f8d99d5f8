import CLinux
import Glibc

/// A store on a partition of an SD card or a disk: a block device, whose own controller does without erasing.
package final class BlockMedium: Medium {
    package let geometry: Geometry
    package let isPresent = true
    package let isRewritable = true
    private let device: Device
    private let isReadOnly: Bool

    init(path: String) throws(KeyFileError) {
        do {
            // open(2): without O_CREAT, O_EXCL refuses a block device that is mounted, a swap area or otherwise in use, and
            // keeps it for this process. A lock (flock(2)) would collide with udev's, which looks at a device after every
            // process that had it open for writing.
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
