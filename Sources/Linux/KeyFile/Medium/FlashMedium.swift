import CLinux
import Glibc

/// A store on raw flash (NOR or NAND) through MTD devices, `/dev/mtdN`. A sector is one erase block, or several small
/// ones.
package final class FlashMedium: Medium {
    package let geometry: Geometry
    package let isPresent = true
    private let device: StorageDevice
    package let badSectors: Set<Int>

    init(path: String) throws(KeyFileError) {
        device = try StorageDevice(path: path)
        try device.lock()
        let form = try FlashForm(of: device)
        (geometry, badSectors) = (form.geometry, form.badSectors)
        let goodSectors = geometry.sectorCount - badSectors.count
        let needed = Geometry.sectorCounts.lowerBound
        guard goodSectors >= needed else {
            let sectorSize = geometry.sectorSize
            throw .tooSmall(path: path, bytes: goodSectors * sectorSize, needed: needed * sectorSize)
        }
    }

    package func requireWritable() throws(KeyFileError) {
        guard !device.isReadOnly else { throw .system(.write, path: device.path, errno: EROFS) }
    }

    /// Reads bad sectors as blank, because they never held data. Returns uncorrectable NAND data unchanged
    /// (mtdchar_read in the kernel). An interrupted erasure can leave such data.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        var done = 0
        while done < buffer.count {
            let sector = (offset + done) / geometry.sectorSize
            let end = min(buffer.count, geometry.start(of: sector + 1) - offset)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<end])
            if badSectors.contains(sector) {
                part.initializeMemory(as: UInt8.self, repeating: 0xff)
            } else {
                try device.read(at: offset + done, into: part)
            }
            done = end
        }
    }

    package func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) {
        try erase(sector: sector)
        do {
            try write(bytes, at: geometry.start(of: sector))
        } catch .system(_, _, EIO) {
            throw .badSector(path: device.path, number: sector)
        }
    }

    package func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try write(bytes, at: offset)
    }

    /// - Throws: `badSector` for a bad sector, or if the erasure fails. Does not mark the sector as bad: the bus or the
    ///   power may have failed, and another failure costs only milliseconds.
    package func erase(sector: Int) throws(KeyFileError) {
        guard !badSectors.contains(sector) else { throw .badSector(path: device.path, number: sector) }
        let start = UInt32(geometry.start(of: sector))
        do {
            _ = try device.attempt(.erase) { flash_erase($0, start, UInt32(geometry.sectorSize)) }
        } catch .system(_, _, EIO) {
            throw .badSector(path: device.path, number: sector)
        }
    }

    /// Writes whole write units and reads them back. The kernel does not verify writes, and a write-protected NOR chip
    /// ignores them without an error.
    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try device.write(bytes, padded: geometry.aligned(bytes.count), at: offset)
        var readBack = WipedBuffer(size: bytes.count)
        let isThere = try readBack.withMutableBytes { memory throws(KeyFileError) in
            try device.read(at: offset, into: memory)
            return memory.elementsEqual(bytes)
        }
        guard isThere else { throw .system(.write, path: device.path, errno: EIO) }
    }

    /// Does nothing: MTD writes return after programming, and MTD devices have no fsync (mtdchar.c in the kernel).
    package func synchronise() {}

    package func setAside() throws(KeyFileError) -> String? { throw .foreignContent(path: device.path) }
}

struct FlashForm {
    let geometry: Geometry
    /// Sectors with a bad erase block, marked by the maker or the kernel. They read as blank.
    let badSectors: Set<Int>

    init(of device: borrowing StorageDevice) throws(KeyFileError) {
        var info = mtd_info_user()
        _ = try device.attempt(.open) { flash_get_info($0, &info) }
        let eraseSize = Int(info.erasesize)
        let sectorSize = max(eraseSize, Geometry.smallestSector)
        guard eraseSize > 0, sectorSize % eraseSize == 0 else {
            throw .unsuitableDevice(path: device.path, problem: "its erase blocks have \(eraseSize) bytes")
        }
        geometry = try Geometry(
            of: device, sectorSize: sectorSize, writeUnit: max(Int(info.writesize), Geometry.smallestWriteUnit))
        var bad: Set<Int> = []
        for offset in stride(from: 0, to: geometry.size, by: eraseSize) {
            let isBad = try device.attempt(.read) { flash_is_bad($0, Int64(offset)) }
            if isBad > 0 { bad.insert(offset / sectorSize) }
        }
        badSectors = bad
    }
}
