import AgentModel
import Testing

@testable import KeyFile

@Suite struct OptionCellTests {
    private let home: StoredNetwork
    private let garden: StoredNetwork
    private let ipv6: StaticAddress

    init() throws {
        ipv6 = try StaticAddress(
            "2001:db8::20/64", gateway: IPAddress("fe80::1"),
            nameServers: ["2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) })
        var home = try network("Home")
        home.options = NetworkOptions(allowsTKIP: true, isManual: true)
        self.home = home
        garden = try network("Garden", password: nil)
    }

    private var state: StoredState { StoredState(home: home, current: home, backups: [garden, home]) }

    private static let mark = [6] + Array("Garden".utf8) + [0]

    /// Cell of a network with these options, without the network's mark.
    private func cell(_ options: NetworkOptions) -> [UInt8]? {
        var open = garden
        open.options = options
        let cell = StoredState(backups: [open]).cells(keepingSlotsOf: [:])[CellID(kind: 130)]
        return cell.map { cell in cell.withBytes { Array($0.dropFirst(Self.mark.count)) } }
    }

    /// Options read from a cell with these bytes after the network's mark; nil if the cell is dropped.
    private func options(_ bytes: [UInt8]) throws -> NetworkOptions? {
        var cells = StoredState(backups: [garden]).cells(keepingSlotsOf: [:])
        cells[CellID(kind: 130)] = Secret(Self.mark + bytes)
        var findings: [StoreFinding] = []
        let read = try #require(StoredState(cells: cells, findings: &findings))
        let options = try #require(read.backups.first).options
        if findings.isEmpty { return options }
        #expect(findings == [.cellsDropped(1)])
        #expect(options.isEmpty)
        return nil
    }

    @Test func layoutIsAsDocumented() throws {
        let cells = state.cells(keepingSlotsOf: [:]).mapValues { $0.withBytes { Array($0) } }
        #expect(cells[CellID(kind: 130)] == [4] + Array("Home".utf8) + [4, 13, 14, 15, 16] + [3])
        #expect(cell(.init()) == nil)
        #expect(cell(.init(isManual: true)) == [2])
        #expect(cell(.init(isMetered: true)) == [4])
        #expect(cell(.init(isMetered: false)) == [8])
        #expect(Band.allCases.map { cell(.init(band: $0)) } == [[16], [32], [64]])
        let bssid = try #require(BSSID("02:00:00:00:01:00"))
        #expect(cell(.init(bssid: bssid)) == [0, 6, 2, 0, 0, 0, 1, 0, 0])
        let address = [0x20, 0x01, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [0x20]
        let gateway = [16, 0xfe, 0x80] + Array(repeating: 0, count: 13) + [1]
        let servers = [16, 0x20, 0x01, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [0x53] + [4, 9, 9, 9, 9]
        let part = address + [64] + gateway + servers
        #expect(cell(.init(band: .five, ipv6: ipv6)) == [32, 0, UInt8(part.count)] + part.map { UInt8($0) })
    }

    @Test func readsWhatItWrites() throws {
        let cells = state.cells(keepingSlotsOf: [:])
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: cells, findings: &findings) == state)
        #expect(findings == [])
        let bssid = try #require(BSSID("02:00:00:00:01:00"))
        for all in [
            NetworkOptions(
                allowsTKIP: true, isManual: true, isMetered: false, band: .six, bssid: bssid, ipv6: ipv6),
            NetworkOptions(bssid: bssid), NetworkOptions(ipv6: try StaticAddress("2001:db8::20/128")),
            NetworkOptions(isMetered: true, band: .twoPointFour),
        ] {
            #expect(try options(try #require(cell(all))) == all)
        }
    }

    /// An older altnet writes all other cells as without options, and keeps this one.
    @Test func olderAltnetMovesTheNetworks() throws {
        var bare = state
        bare.changeNetworks { $0.options = .init() }
        #expect(state.cells(keepingSlotsOf: [:]).filter { $0.key.kind < 128 } == bare.cells(keepingSlotsOf: [:]))
        bare.backups = [try network("Attic"), home, garden]
        bare.changeNetworks { $0.options = .init() }
        var cells = bare.cells(keepingSlotsOf: [:])
        cells[CellID(kind: 130)] = state.cells(keepingSlotsOf: [:])[CellID(kind: 130)]
        var findings: [StoreFinding] = []
        let read = try #require(StoredState(cells: cells, findings: &findings))
        #expect(findings == [])
        #expect(read.home?.options == home.options)
        #expect(read.backups.map(\.options) == [.init(), home.options, .init()])
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

    @Test func contradictingAndUnknownFlagsAreDropped() throws {
        for flags in UInt8.min...(.max) {
            let isSound = flags != 0 && flags & 128 == 0 && flags & 12 != 12 && (flags >> 4 & 7).nonzeroBitCount <= 1
            let read = try options([flags])
            #expect((read != nil) == isSound, "\(flags)")
        }
    }

    @Test func damagedAccessPointsAndAddressesAreDropped() throws {
        let bssid = try #require(BSSID("02:00:00:00:01:00"))
        let whole = try #require(cell(.init(isManual: true, bssid: bssid, ipv6: ipv6)))
        for length in 2..<whole.count {
            #expect(try options(Array(whole.prefix(length))) == nil, "\(length)")
        }
        let ipv4: [UInt8] = [192, 168, 1, 20, 24, 4, 192, 168, 1, 1]
        let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 192, 168, 1, 20]
        for tail: [UInt8] in [
            [0, 0], [6, 1, 0, 0, 0, 1, 0, 0], [6, 0, 0, 0, 0, 0, 0, 0], [5, 2, 0, 0, 0, 1, 0],
            [0, UInt8(ipv4.count)] + ipv4, [0, 18] + mapped + [120, 0],
        ] {
            #expect(try options([2] + tail) == nil, "\(tail)")
        }
        #expect(try options(whole + [0]) == nil)
    }

    @Test func copiesShareTheFirstOnesOptions() {
        var torn = state
        torn.backups[1].options = .init()
        torn.current?.options = .init(isManual: true)
        #expect(torn.normalised() == state)
        torn.home?.options = .init()
        #expect(torn.normalised().networks.allSatisfy { $0.options.isEmpty })
    }

    @Test func oneOptionIsOneSmallChange() {
        var bare = state
        bare.changeNetworks { $0.options = .init() }
        let before = bare.cells(keepingSlotsOf: [:])
        let changes = CellChanges.between(before, state.cells(keepingSlotsOf: before))
        #expect(Array(changes.keys) == [CellID(.options)])
    }
}
