import AgentModel
import Glibc
import KeyFileSimulation
import Testing

@testable import KeyFile

/// The example in Docs/reference/key-file-format.md is this program's format, byte by byte and both ways.
@Suite struct FormatTests {
    private let root = Secret((0..<32).map { UInt8($0) })

    private struct PatternRandom: RandomNumberGenerator {
        mutating func next() -> UInt64 { 0x5555_5555_5555_5555 }
    }

    private func log(on disk: SimulatedDisk) throws -> RecordLog {
        try RecordLog(
            medium: try disk.medium(), roots: [root], path: "/store/keyfile", random: PatternRandom(),
            now: { 1_790_000_000 })
    }

    /// The states of the example's two records.
    private func states() throws -> [StoredState] {
        let psk = Secret((5...0x24).map { UInt8($0) })
        let home = StoredNetwork(
            ssid: try SSID("Home"), credential: .passphrase(Secret(text: "correct horse"), psk: psk),
            security: .wpa2wpa3)
        let first = StoredState(
            home: home, backups: [try network("Garden", password: nil, hidden: true)], backupsRevision: 1)
        var second = first
        second.current = home
        second.statistics[home.ssid] = NetworkStatistics(
            lastSeen: 1_790_000_060, lastSignal: -52, lastFrequency: Frequency(megahertz: 5180))
        return [first, second]
    }

    @Test func writesTheDocumentedExample() throws {
        let disk = SimulatedDisk()
        let log = try log(on: disk)
        for state in try states() { try log.commit(state.cells(keepingSlotsOf: log.cells)) }
        let example = try documentedExample()
        #expect(Array(try #require(disk.files[SimulatedDisk.storeName]).prefix(example.count)) == example)
    }

    /// A state that takes two sectors, of which the documentation has what is not encrypted.
    @Test func writesTheDocumentedLargeExample() throws {
        let disk = SimulatedDisk()
        let log = try log(on: disk)
        let large: Cells = [CellID(kind: 128): Secret((0..<4500).map { UInt8(truncatingIfNeeded: $0) })]
        try log.commit(large)
        let bytes = try #require(disk.files[SimulatedDisk.storeName])
        let rows = try documentedLargeExample()
        #expect(rows.count >= 20)
        for row in rows {
            let written = Array(bytes[row.offset..<row.offset + row.bytes.count])
            #expect(written == row.bytes, "at \(row.offset): \(Hex.string(written))")
        }
        #expect(try self.log(on: disk).cells == large)
    }

    @Test func readsTheDocumentedExample() throws {
        let example = try documentedExample()
        let blank = Array(repeating: UInt8(0xff), count: Geometry.file.size - example.count)
        let log = try log(on: SimulatedDisk(files: [SimulatedDisk.storeName: example + blank]))
        #expect(log.report == [])
        #expect(StoredState(cells: log.cells) == (try states().last))
    }
}

/// The bytes of the worked example: the rows of Docs/reference/key-file-format.md that look like
/// `0010  00 01 ...  | meaning`.
func documentedExample() throws -> [UInt8] {
    var bytes: [UInt8] = []
    for fields in try documentedFields() {
        guard fields[0].count == 4 else { continue }
        guard let start = Int(fields[0], radix: 16), let values = Hex.bytes(fields.dropFirst().joined()) else {
            continue
        }
        #expect(start == bytes.count, "the row \(fields[0]) follows \(bytes.count) bytes")
        bytes += values
    }
    return bytes
}

/// The rows of the example of a state that takes two sectors, which look like `1:0010  00 01 ...  | meaning`: where in
/// a file each is, and its bytes.
func documentedLargeExample() throws -> [(offset: Int, bytes: [UInt8])] {
    try documentedFields().compactMap { fields in
        let place = fields[0].split(separator: ":")
        guard place.count == 2, place[1].count == 4, let sector = Int(place[0]), let start = Int(place[1], radix: 16),
            let values = Hex.bytes(fields.dropFirst().joined())
        else { return nil }
        return (sector * 4096 + start, values)
    }
}

/// Returns the words before the bar of each line of Docs/reference/key-file-format.md with at least two of them.
private func documentedFields(in file: String = #filePath) throws -> [[Substring]] {
    let root = file.split(separator: "/").dropLast(3).joined(separator: "/")
    let stream = try #require(fopen("/\(root)/Docs/reference/key-file-format.md", "r"))
    defer { fclose(stream) }
    var text: [UInt8] = []
    while case let byte = getc(stream), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
        .map { line in line.prefix { $0 != "|" }.split(separator: " ") }
        .filter { $0.count > 1 }
}

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
