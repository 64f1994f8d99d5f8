import CLinux
import Glibc

/// A flash chip's or a block device's store, read beside an agent that has it open.
final class ReadOnlyDevice: Medium {
    let geometry: Geometry
    let isPresent = true
    let isRewritable: Bool
    private let device: Device
    let badSectors: Set<Int>

    /// - Returns: nil if there is no device at `path`.
    static func open(path: String) throws(KeyFileError) -> ReadOnlyDevice? {
        var status = stat()
        guard stat(path, &status) == 0, [S_IFCHR, S_IFBLK].contains(status.st_mode & S_IFMT) else { return nil }
        let isFlash = status.st_mode & S_IFMT == S_IFCHR
        // Not even to be opened if it is anything else: opening /dev/watchdog starts the watchdog.
        guard !isFlash || Int32(gnu_dev_major(status.st_rdev)) == MTD_CHAR_MAJOR else {
            throw .unsuitableDevice(path: path, problem: "it is no flash chip")
        }
        return try ReadOnlyDevice(path: path, isFlash: isFlash)
    }

    private init(path: String, isFlash: Bool) throws(KeyFileError) {
        device = try Device(path: path)
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

    /// Whether another process has the device open as its store.
    static func isLocked(path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        do throws(KeyFileError) {
            switch status.st_mode & S_IFMT {
            // Ends with this process's hold on the device, at once.
            case S_IFCHR: try Device(path: path).lock()
            case S_IFBLK: _ = try Device(path: path, flags: O_EXCL)
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
