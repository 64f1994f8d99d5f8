import CLinux
import Glibc

/// A store on raw flash (NOR or NAND) through the kernel's MTD devices, `/dev/mtdN`: a sector is an erase block, or
/// several where they are small.
package final class FlashMedium: Medium {
    package let geometry: Geometry
    package let isPresent = true
    private let device: Device
    package let badSectors: Set<Int>

    init(path: String) throws(KeyFileError) {
        device = try Device(path: path)
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

    /// A sector that is marked bad reads as blank, for nothing of the store was ever there. Data that NAND flash cannot
    /// correct, as after an erasure that was cut short, comes as it is (mtdchar_read in the kernel).
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

    /// - Throws: `badSector` also where the chip fails now. It is not marked as bad for ever: if it was the bus or the
    ///   power that failed, the sector is good, and finding it bad once more in its next turn costs milliseconds.
    package func erase(sector: Int) throws(KeyFileError) {
        guard !badSectors.contains(sector) else { throw .badSector(path: device.path, number: sector) }
        let start = UInt32(geometry.start(of: sector))
        do {
            _ = try device.attempt(.erase) { flash_erase($0, start, UInt32(geometry.sectorSize)) }
        } catch .system(_, _, EIO) {
            throw .badSector(path: device.path, number: sector)
        }
    }

    /// Writes whole write units, and reads them back: the kernel does not, and a NOR chip with a write
    /// protection of its own swallows what it is sent.
    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try device.write(bytes, padded: geometry.aligned(bytes.count), at: offset)
        var readBack = WipedBuffer(size: bytes.count)
        let isThere = try readBack.withMutableBytes { memory throws(KeyFileError) in
            try device.read(at: offset, into: memory)
            return memory.elementsEqual(bytes)
        }
        guard isThere else { throw .system(.write, path: device.path, errno: EIO) }
    }

    /// Nothing is left to be done: a write to an MTD device returns when the chip has programmed the data, and the
    /// device knows no fsync (mtdchar.c in the kernel).
    package func synchronise() {}

    package func setAside() throws(KeyFileError) -> String? { throw .foreignContent(path: device.path) }
}

/// The properties of a flash chip that a store needs.
struct FlashForm {
    let geometry: Geometry
    /// Those with an erase block that is marked bad: by the maker of a NAND chip, or later by the kernel. They read as
    /// blank.
    let badSectors: Set<Int>

    init(of device: borrowing Device) throws(KeyFileError) {
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
