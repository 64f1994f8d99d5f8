/// The CRC-32 of Ethernet and zlib (ITU-T V.42): any flipped bit and any burst of up to 32 is noticed, and a single flipped
/// bit can be found and put right.
enum CRC32 {
    /// - Parameter first: the checksum of what comes before.
    static func checksum(_ bytes: UnsafeRawBufferPointer, after first: UInt32 = 0) -> UInt32 {
        var crc = ~first
        for byte in bytes { crc = shift(crc ^ UInt32(byte)) }
        return ~crc
    }

    /// Finds the one bit whose change explains why `bytes` do not have this checksum, and changes it.
    /// - Returns: whether there is one. Also true if the bit is one of the checksum itself.
    static func repairBit(
        of bytes: UnsafeMutableRawBufferPointer, after first: UInt32 = 0, checksum: UInt32
    ) -> Bool {
        let difference = Self.checksum(UnsafeRawBufferPointer(bytes), after: first) ^ checksum
        if difference.nonzeroBitCount == 1 { return true }
        // What flipping each bit of a byte does to the checksum, from the last byte to the first.
        var effects = (0..<8).map { shift(1 << $0) }
        for index in bytes.indices.reversed() {
            if let bit = effects.firstIndex(of: difference) {
                bytes[index] ^= 1 << bit
                return true
            }
            for bit in 0..<8 { effects[bit] = shift(effects[bit]) }
        }
        return false
    }

    /// Eight bits further.
    private static func shift(_ crc: UInt32) -> UInt32 { crc >> 8 ^ table[Int(crc & 0xff)] }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xedb8_8320) }
    }
}
