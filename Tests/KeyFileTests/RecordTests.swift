import KeyFileSimulation
import Testing

@testable import KeyFile

@Suite struct RecordTests {
    /// The check value that every description of CRC-32 gives.
    @Test func checksumIsTheWellKnownOne() {
        func checksum(_ text: String) -> UInt32 { Array(text.utf8).withUnsafeBytes { CRC32.checksum($0) } }
        #expect(checksum("123456789") == 0xcbf4_3926)
        #expect(checksum("") == 0)
    }

    /// Every single bit of a record of the largest size, and of its checksum, is found again.
    @Test func putsAnySingleBitRight() {
        var bytes = (0..<4_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let right = bytes
        let sum = bytes.withUnsafeBytes { CRC32.checksum($0) }
        for bit in stride(from: 0, to: bytes.count * 8, by: 97) {
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(bytes.withUnsafeMutableBytes { CRC32.repairBit(of: $0, checksum: sum) })
            #expect(bytes == right)
        }
        for bit in 0..<32 as Range<UInt32> {
            #expect(bytes.withUnsafeMutableBytes { CRC32.repairBit(of: $0, checksum: sum ^ 1 << bit) })
            #expect(bytes == right)
        }
    }

    @Test(arguments: [
        (4096, 1, 16), (2048, 8, 16), (4096, 65, 16), (5000, 4, 16), (4096, 4, 8), (4096, 4, 4096), (8192, 4, 4096),
    ])
    func refusesGeometriesThatHoldNoState(size: Int, count: Int, unit: Int) {
        #expect(Geometry(sectorSize: size, sectorCount: count, writeUnit: unit) == nil)
    }
}
