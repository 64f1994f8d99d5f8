import AgentModel
import Testing

@testable import KeyFile

@Suite struct HourlyOutageCellTests {
    private let home: StoredNetwork
    private let attic: StoredNetwork
    private let losses = HourlyOutageRecord(day: 20_783, seconds: (0..<24).map { $0 == 20 ? 36 : 0 })

    init() throws {
        home = try StoredNetwork(ssid: SSID("Home"), credential: .none)
        attic = try StoredNetwork(ssid: SSID("Attic"), credential: .none)
    }

    private func state(_ statistics: [SSID: NetworkStatistics]) -> StoredState {
        StoredState(home: home, backups: [attic], statistics: statistics)
    }

    @Test func lossesOfHomeComeBack() throws {
        let state = state([home.ssid: NetworkStatistics(lastSignal: -50, hourlyOutage: losses)])
        let cells = state.cells(keepingSlotsOf: [:])
        #expect(StoredState(cells: cells) == state)
        let cell = try #require(cells[CellID(kind: 152)]).withBytes { Array($0) }
        #expect(cell == [4] + Array("Home".utf8) + [0x51, 0x2f] + losses.seconds)
    }

    /// Nothing else is ever returned to.
    @Test func lossesOfABackupAreNotStored() {
        #expect(state([attic.ssid: NetworkStatistics(hourlyOutage: losses)]).normalised().statistics.isEmpty)
        var chosen = state([attic.ssid: NetworkStatistics(hourlyOutage: losses)])
        chosen.chosen = attic
        #expect(StoredState(cells: chosen.cells(keepingSlotsOf: [:])) == chosen)
    }

    @Test(arguments: [[], [0], Array(repeating: 0, count: 24), Array(repeating: 9, count: 25)] as [[UInt8]])
    func whatSaysNothingIsNotStored(seconds: [UInt8]) {
        let losses = HourlyOutageRecord(day: 1, seconds: seconds)
        #expect(state([home.ssid: NetworkStatistics(hourlyOutage: losses)]).normalised().statistics.isEmpty)
    }

    @Test func impossibleLossesAreDropped() throws {
        let sound = state([home.ssid: NetworkStatistics(hourlyOutage: losses)]).cells(keepingSlotsOf: [:])
        let bytes = try #require(sound[CellID(kind: 152)]).withBytes { Array($0) }
        let name = Array(bytes.prefix(7))
        for content in [
            [], bytes.dropLast(), bytes + [0], [0] + bytes.dropFirst(), name + Array(repeating: 0, count: 24),
            [4] + Array("Away".utf8) + bytes.dropFirst(5),
        ] as [[UInt8]] {
            var cells = sound
            cells[CellID(kind: 152)] = Secret(content)
            var findings: [StoreFinding] = []
            #expect(StoredState(cells: cells, findings: &findings) == state([:]), "\(content)")
            #expect(findings == [.cellsDropped(1)], "\(content)")
        }
    }
}
