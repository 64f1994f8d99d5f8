import CLinux

/// What a flash chip says of itself, as a store has to know it.
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
