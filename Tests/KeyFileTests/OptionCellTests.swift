import AgentModel
import Testing

@testable import KeyFile

@Suite struct OptionCellTests {
    private let home: StoredNetwork
    private let garden: StoredNetwork

    init() throws {
        var home = try network("Home")
        home.options = [.allowsTKIP, .isManual]
        self.home = home
        garden = try network("Garden", password: nil)
    }

    private var state: StoredState { StoredState(home: home, current: home, backups: [garden, home]) }

    @Test func layoutIsAsDocumented() {
        #expect(NetworkOptions.allowsTKIP.rawValue == 1 && NetworkOptions.isManual.rawValue == 2)
        let cells = state.cells(keepingSlotsOf: [:]).mapValues { $0.withBytes { Array($0) } }
        #expect(cells[CellID(kind: 130)] == [4] + Array("Home".utf8) + [4, 13, 14, 15, 16] + [3])
        var open = garden
        open.options = .isManual
        let other = StoredState(backups: [open]).cells(keepingSlotsOf: [:]).mapValues { $0.withBytes { Array($0) } }
        #expect(other[CellID(kind: 130)] == [6] + Array("Garden".utf8) + [0, 2])
    }

    @Test func readsWhatItWrites() {
        let cells = state.cells(keepingSlotsOf: [:])
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: cells, findings: &findings) == state)
        #expect(findings == [])
    }

    /// An older altnet writes all other cells as without options, and keeps this one.
    @Test func olderAltnetMovesTheNetworks() throws {
        var bare = state
        bare.changeNetworks { $0.options = [] }
        #expect(state.cells(keepingSlotsOf: [:]).filter { $0.key.kind < 128 } == bare.cells(keepingSlotsOf: [:]))
        bare.backups = [try network("Attic"), home, garden]
        bare.changeNetworks { $0.options = [] }
        var cells = bare.cells(keepingSlotsOf: [:])
        cells[CellID(kind: 130)] = state.cells(keepingSlotsOf: [:])[CellID(kind: 130)]
        var findings: [StoreFinding] = []
        let read = try #require(StoredState(cells: cells, findings: &findings))
        #expect(findings == [])
        #expect(read.home?.options == home.options)
        #expect(read.backups.map(\.options) == [[], home.options, []])
    }

    /// A newer altnet may have more options, which this one must not remove.
    @Test func unknownBitsStay() throws {
        var newer = home
        newer.options = NetworkOptions(rawValue: 0b1000_0001)
        let cells = StoredState(home: newer).cells(keepingSlotsOf: [:])
        var read = try #require(StoredState(cells: cells))
        #expect(read.home?.options == newer.options)
        read.changeNetworks { $0.options = $0.options.changed(by: .init(allowsTKIP: false)) }
        #expect(read.home?.options.rawValue == 0b1000_0000)
    }

    @Test func optionsOfAnotherNetworkAreDropped() throws {
        for other in [nil, try network("Home", password: "another password"), try network("Home", password: nil)] {
            let others = StoredState(home: other, backups: [try network("Attic")])
            var cells = others.cells(keepingSlotsOf: [:])
            cells[CellID(kind: 130)] = state.cells(keepingSlotsOf: [:])[CellID(kind: 130)]
            var findings: [StoreFinding] = []
            #expect(StoredState(cells: cells, findings: &findings) == others)
            #expect(findings == [.cellsDropped(1)])
        }
    }

    @Test func impossibleCellsAreDropped() throws {
        let sound = state.cells(keepingSlotsOf: [:])
        let bytes = try #require(sound[CellID(kind: 130)]).withBytes { Array($0) }
        for bad in [[], bytes.dropLast() + [0], Array(bytes.dropLast()), bytes + [1], [0] + bytes.dropFirst()] {
            var cells = sound
            cells[CellID(kind: 130)] = Secret(bad)
            var findings: [StoreFinding] = []
            let read = try #require(StoredState(cells: cells, findings: &findings), "\(bad)")
            #expect(findings == [.cellsDropped(1)], "\(bad)")
            #expect(read.networks.allSatisfy { $0.options.isEmpty })
        }
        var twice = sound
        twice[CellID(kind: 130, index: 9)] = sound[CellID(kind: 130)]
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: twice, findings: &findings) == state)
        #expect(findings == [.cellsDropped(1)])
    }

    @Test func copiesShareTheFirstOnesOptions() {
        var torn = state
        torn.backups[1].options = []
        torn.current?.options = .isManual
        #expect(torn.normalised() == state)
        torn.home?.options = []
        #expect(torn.normalised().networks.allSatisfy { $0.options.isEmpty })
    }

    @Test func oneOptionIsOneSmallChange() {
        var bare = state
        bare.changeNetworks { $0.options = [] }
        let before = bare.cells(keepingSlotsOf: [:])
        let changes = CellChanges.between(before, state.cells(keepingSlotsOf: before))
        #expect(Array(changes.keys) == [CellID(.options)])
    }
}
