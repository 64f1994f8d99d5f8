import AgentModel
import KeyFileSimulation
import Testing

@testable import KeyFile

/// The example in Docs/key-file.md is this program's format, byte by byte and both ways.
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

    /// What the example's two records leave.
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
