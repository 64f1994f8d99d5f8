import AgentModel
import Testing

@testable import KeyFile

/// The security floor that is learned of a network, and its cell.
@Suite struct LearnedMinimumSecurityTests {
    private let home: StoredNetwork
    private let attic: StoredNetwork

    init() throws {
        func network(_ name: String) throws -> StoredNetwork {
            let password = Secret(text: "password-\(name)")
            let key = Secret(Array(repeating: 7, count: 32))
            return try StoredNetwork(ssid: SSID(name), credential: .passphrase(password, psk: key))
        }
        home = try network("Home")
        attic = try network("Attic")
    }

    private func floor(_ days: Int, _ protection: LinkProtection) -> LearnedMinimumSecurity {
        var floor = LearnedMinimumSecurity()
        for _ in 0..<days { floor.countLink(with: protection) }
        return floor
    }

    @Test func threeDaysMakeAFloor() {
        #expect(floor(2, [.sae, .pmf]).protection == [])
        #expect(floor(3, [.sae, .pmf]).protection == [.sae, .pmf])
        #expect(floor(300, .pmf).protection == .pmf)
        #expect(floor(300, [.owe]) == LearnedMinimumSecurity(), "anybody completes OWE")
    }

    /// Each by itself: protected management frames may be there long before SAE.
    @Test func lessBeginsAnewWhatIsNotLearned() {
        var floor = floor(3, .pmf)
        floor.countLink(with: [.sae, .pmf])
        floor.countLink(with: [.sae, .pmf])
        floor.restart(at: .pmf)
        floor.countLink(with: [.sae, .pmf])
        #expect(floor.protection == .pmf && floor.sae == 1)
        floor.restart(at: [])
        #expect(floor.protection == .pmf && floor.sae == 0, "what is learned stays")
    }

    @Test func threeDaysBelowItEndIt() {
        var floor = floor(3, .sae)
        floor.countBelow()
        floor.countBelow()
        floor.met()
        floor.countBelow()
        floor.countBelow()
        #expect(floor.protection == .sae && floor.below == 2)
        floor.countLink(with: .sae)
        #expect(floor.below == 0)
        for _ in 0..<3 { floor.countBelow() }
        #expect(floor == LearnedMinimumSecurity())
        floor.countBelow()
        #expect(floor == LearnedMinimumSecurity(), "nothing is below nothing")
    }

    @Test func eachValueHasACode() {
        let codes = (UInt8.min...UInt8.max).filter { LearnedMinimumSecurity(code: $0)?.code == $0 }
        #expect(codes.count == 15 + 2 * 7, "below only where something is learned")
        #expect((UInt8.min...UInt8.max).filter { LearnedMinimumSecurity(code: $0) != nil } == codes)
    }

    @Test func itIsKeptByTheNetworksName() throws {
        var state = StoredState(home: home, backups: [attic])
        state.statistics[home.ssid] = NetworkStatistics(
            lastSignal: -50, learnedMinimumSecurity: floor(3, [.sae, .pmf]))
        state.statistics[attic.ssid] = NetworkStatistics(learnedMinimumSecurity: floor(1, .pmf))
        let cells = state.cells(keepingSlotsOf: [:])
        #expect(StoredState(cells: cells) == state)
        let cell = try #require(cells[CellID(kind: 153)]).withBytes { Array($0) }
        #expect(cell == [0x3a, 0x78, 0x69, 0x53, 0x0f, 0x7e, 0x20, 0xd5, 0x44, 0x04])
    }

    /// Nothing is learned of an open network, and what says nothing takes no room.
    @Test func whatSaysNothingIsNotStored() throws {
        let cafe = try StoredNetwork(ssid: SSID("Cafe"), credential: .none)
        for (network, learned) in [(cafe, floor(3, .sae)), (home, LearnedMinimumSecurity())] {
            let state = StoredState(
                home: network, statistics: [network.ssid: NetworkStatistics(learnedMinimumSecurity: learned)])
            #expect(state.normalised().statistics.isEmpty)
        }
    }

    @Test func theFirstFiveAreKept() throws {
        var state = StoredState(home: home)
        state.backups = try (0..<9).map { number in
            var network = attic
            network.ssid = try SSID("Attic \(number)")
            return network
        }
        for network in [home] + state.backups {
            state.statistics[network.ssid] = NetworkStatistics(learnedMinimumSecurity: floor(1, .pmf))
        }
        let kept = state.normalised()
        #expect(Set(kept.statistics.keys) == Set([home.ssid] + state.backups.prefix(4).map(\.ssid)))
        #expect(StoredState(cells: kept.cells(keepingSlotsOf: [:])) == kept)
    }

    /// As altnet has written them that knew no days: what is there is the owner's word.
    @Test func anOldFileIsRead() throws {
        var old = StoredState(home: home)
        old.home?.minimumSecurity = [.sae, .pmf]
        let state = try #require(StoredState(cells: old.cells(keepingSlotsOf: [:])))
        #expect(state.home?.minimumSecurity == [.sae, .pmf] && state.statistics.isEmpty)
    }

    @Test(arguments: [[], [1], [0, 0, 0, 0, 3], [0x5b, 1, 2, 3, 0xff], Array(repeating: 9, count: 999)] as [[UInt8]])
    func whatIsDamagedIsDropped(_ bytes: [UInt8]) {
        let state = StoredState(home: home)
        var cells = state.cells(keepingSlotsOf: [:])
        cells[CellID(kind: 153)] = Secret(bytes)
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: cells, findings: &findings) == state)
        #expect(findings == [.cellsDropped(1)])
    }
}
