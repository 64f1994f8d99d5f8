import KeyFile

/// Changes that an input asks for in the bytes of a store; where it asks for that as well, with right checksums, so
/// that these are no shelter for what is behind them.
struct Forgery {
    private let geometry: Geometry

    init(of geometry: Geometry) { self.geometry = geometry }

    func apply(to bytes: inout [UInt8], _ input: inout FuzzInput, correctsChecksums: Bool) {
        for _ in 0..<input.byte() % 8 {
            let offset = input.number(below: bytes.count)
            let sector = offset / geometry.sectorSize * geometry.sectorSize
            switch input.byte() % 6 {
            case 0: bytes[offset] ^= 1 << UInt8(input.byte() % 8)
            case 1: overwrite(&bytes, at: offset, with: input.bytes(input.byte() % 64))
            case 2: overwrite(&bytes, at: offset, with: Array(repeating: 0xff, count: input.byte() * 16))
            case 3:
                let other = input.byte() % geometry.sectorCount * geometry.sectorSize
                overwrite(&bytes, at: sector, with: Array(bytes[other..<other + geometry.sectorSize]))
            case 4:
                overwrite(&bytes, at: sector + input.byte() % 64, with: input.bytes(1 + input.byte() % 8))
                if correctsChecksums { correctHeader(&bytes, at: sector) }
            default:
                let record = offset / 16 * 16
                overwrite(&bytes, at: record + input.byte() % 12, with: input.bytes(1 + input.byte() % 8))
                if correctsChecksums {
                    let mark = bytes[sector + 60..<sector + 64].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
                    correct(&bytes, record..<record + 12, after: mark)
                }
            }
        }
    }

    private func overwrite(_ bytes: inout [UInt8], at offset: Int, with new: [UInt8]) {
        for (index, byte) in zip(offset..<bytes.count, new) { bytes[index] = byte }
    }

    private func correctHeader(_ bytes: inout [UInt8], at sector: Int) {
        correct(&bytes, sector..<sector + 12)
        correct(&bytes, sector + 16..<sector + 60)
    }

    /// Writes the checksum of a part behind it.
    /// - Parameter mark: of the sector, if the part is a record's header.
    private func correct(_ bytes: inout [UInt8], _ part: Range<Int>, after mark: UInt32 = 0) {
        guard part.upperBound + 4 <= bytes.count else { return }
        var crc = ~mark
        for byte in bytes[part] {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xedb8_8320) }
        }
        withUnsafeBytes(of: (~crc).bigEndian) { bytes.replaceSubrange(part.upperBound..<part.upperBound + 4, with: $0) }
    }
}
