import AgentModel
import KeyFileSimulation
import Testing

@testable import KeyFile

/// Static addresses and leases, whose cells an altnet of before keeps as they are while it changes all others.
@Suite struct AddressCellTests {
    private let home: StoredNetwork
    private let garden: StoredNetwork
    private let address: StaticAddress
    private let lease: StoredLease

    init() throws {
        address = try StaticAddress(
            "192.168.1.20/24", gateway: IPAddress("192.168.1.1"),
            nameServers: [#require(IPAddress("192.168.1.1")), #require(IPAddress("2001:db8::53"))])
        var home = try network("Home")
        home.staticAddress = address
        self.home = home
        garden = try network("Garden", password: nil)
        lease = StoredLease(
            address: try #require(IPAddress("10.1.2.3")), prefixLength: 16, gateway: IPAddress("10.1.0.1"),
            gatewayHardware: HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]), server: try #require(IPAddress("10.1.0.2")),
            hardware: try #require(HardwareAddress(bytes: [2, 0, 0, 0, 0, 2])),
            nameServers: ["10.1.0.1", "9.9.9.9"].compactMap { IPAddress($0) }, expiry: 0x0102_0304)
    }

    private var state: StoredState {
        StoredState(
            home: home, current: home, backups: [garden, home],
            statistics: [garden.ssid: NetworkStatistics(lease: lease)])
    }

    @Test func theLayoutIsAsDocumented() throws {
        let cells = state.cells(keepingSlotsOf: [:]).mapValues { $0.withBytes { Array($0) } }
        #expect(cells.count == 5)
        let name = [4] + Array("Home".utf8)
        let v6: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53]
        #expect(
            cells[CellID(kind: 128)] == name + [4, 13, 14, 15, 16] + [192, 168, 1, 20, 24] + [4, 192, 168, 1, 1]
                + [4, 192, 168, 1, 1] + [16] + v6)
        #expect(
            cells[CellID(kind: 129)] == [6] + Array("Garden".utf8) + [2, 0, 0, 0, 0, 2] + [10, 1, 2, 3, 16]
                + [10, 1, 0, 2] + [1, 2, 3, 4] + [4, 10, 1, 0, 1] + [6, 2, 0, 0, 0, 0, 1]
                + [10, 1, 0, 1] + [9, 9, 9, 9])
        #expect(cells[CellID(kind: 3)] == nil, "a lease alone is no cell of what was seen")
    }

    @Test func whatIsWrittenIsRead() throws {
        let cells = state.cells(keepingSlotsOf: [:])
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: cells, findings: &findings) == state)
        #expect(findings == [])
        var bare = state
        bare.changeNetworks { $0.staticAddress = nil }
        bare.statistics = [:]
        #expect(
            cells.filter { $0.key.kind < 128 } == bare.cells(keepingSlotsOf: [:]),
            "an altnet of before finds the other cells as it writes them")
    }

    /// Its cells of the roles and the networks are its own, in slots of its own.
    @Test func anAltnetOfBeforeMovesTheNetworks() throws {
        var bare = state
        bare.changeNetworks { $0.staticAddress = nil }
        bare.statistics = [:]
        bare.home?.security = .wpa3
        bare.current = bare.home
        bare.backups = try [network("Attic"), #require(bare.home), garden]
        var cells = bare.cells(keepingSlotsOf: [:])
        for (id, cell) in state.cells(keepingSlotsOf: [:]) where id.kind >= 128 { cells[id] = cell }
        var findings: [StoreFinding] = []
        let read = try #require(StoredState(cells: cells, findings: &findings))
        #expect(findings == [])
        #expect(read.home?.staticAddress == address && read.backups[1].staticAddress == address)
        #expect(read.backups[0].staticAddress == nil && read.backups[2].staticAddress == nil)
        #expect(read.statistics[garden.ssid]?.lease == lease)
    }

    /// As where an altnet of before has removed it, or has given it another password.
    @Test func theAddressOfAnotherNetworkIsDropped() throws {
        for home in [nil, try network("Home", password: "another password"), try network("Home", password: nil)] {
            let others = StoredState(home: home, backups: [try network("Attic")])
            var cells = others.cells(keepingSlotsOf: [:])
            for (id, cell) in state.cells(keepingSlotsOf: [:]) where id.kind >= 128 { cells[id] = cell }
            var findings: [StoreFinding] = []
            #expect(StoredState(cells: cells, findings: &findings) == others)
            #expect(findings == [.cellsDropped(2)])
            #expect(
                others.cells(keepingSlotsOf: cells).allSatisfy { $0.key.kind < 128 }, "the next commit removes them")
        }
    }

    @Test func impossibleAddressesAreDropped() throws {
        let sound = state.cells(keepingSlotsOf: [:])
        func bytes(_ kind: UInt8) throws -> [UInt8] { try #require(sound[CellID(kind: kind)]).withBytes { Array($0) } }
        func changed(_ kind: UInt8, at offset: Int, _ new: [UInt8]) throws -> (UInt8, [UInt8]) {
            var bytes = try bytes(kind)
            bytes.replaceSubrange(offset..<offset + new.count, with: new)
            return (kind, bytes)
        }
        let bad: [(UInt8, [UInt8])] = [
            (128, []), (128, try bytes(128).dropLast()), (128, try bytes(128) + [0]), (128, try bytes(128) + [4, 9]),
            (128, try bytes(128) + [4, 9, 9, 9, 9, 4, 8, 8, 8, 8]),
            try changed(128, at: 5, [3]),
            try changed(128, at: 10, [0]), try changed(128, at: 10, [127]), try changed(128, at: 13, [0]),
            try changed(128, at: 13, [255]), try changed(128, at: 14, [7]), try changed(128, at: 14, [33]),
            try changed(128, at: 16, [10]), try changed(128, at: 19, [20]), try changed(128, at: 21, [0]),
            (129, []), (129, try bytes(129).dropLast()), (129, try bytes(129) + [0]),
            (129, try bytes(129) + [1, 1, 1, 1, 8, 8, 8, 8]),
            try changed(129, at: 0, [0]), try changed(129, at: 7, [1]), try changed(129, at: 13, [224]),
            try changed(129, at: 17, [0]), try changed(129, at: 18, [0]), try changed(129, at: 27, [0]),
            try changed(129, at: 26, [0]), try changed(129, at: 32, [3]), try changed(129, at: 38, [255]),
        ]
        for (kind, content) in bad {
            var cells = sound
            cells[CellID(kind: kind)] = Secret(content)
            var findings: [StoreFinding] = []
            let read = try #require(StoredState(cells: cells, findings: &findings), "\(kind) \(content)")
            #expect(findings == [.cellsDropped(1)], "\(kind) \(content)")
            #expect(read.home?.staticAddress == (kind == 128 ? nil : address))
            #expect(read.statistics[garden.ssid]?.lease == (kind == 129 ? nil : lease))
            #expect(read.backups.count == 2 && read.normalised() == read)
        }
        var twice = sound
        twice[CellID(kind: 128, index: 9)] = sound[CellID(kind: 128)]
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: twice, findings: &findings) == state)
        #expect(findings == [.cellsDropped(1)])
    }

    /// A store with such a cell opens, says so, and is put right by the next commit.
    @Test func aStoreWithAnImpossibleAddressOpens() throws {
        let board = SimulatedBoard(SimulatedDisk())
        let store = try board.open()
        try store.commit(state)
        let log = try RecordLog(
            medium: board.disk.medium(), roots: [#require(board.rootKey.load()?.current)], path: "/store/keyfile",
            random: SystemRandomNumberGenerator(), now: { 0 })
        var cells = log.cells
        cells[CellID(kind: 128)] = Secret([1, 2, 3])
        try log.commit(cells)
        let again = try board.open()
        #expect(again.report == [.cellsDropped(1)])
        #expect(!StoreFinding.cellsDropped(1).isSerious)
        #expect(again.state.home?.staticAddress == nil && again.state.home?.ssid == home.ssid)
        var next = again.state
        next.backupsRevision = 9
        try again.commit(next)
        #expect(try board.open().report == [])
    }

    @Test func theCopiesOfANetworkShareOneAddress() throws {
        var torn = state
        torn.backups[1].staticAddress = nil
        torn.current?.staticAddress = nil
        #expect(torn.normalised() == state)
        torn.home?.staticAddress = nil
        #expect(torn.normalised().networks.allSatisfy { $0.staticAddress == nil })
        var hidden = home
        hidden.isHidden = true
        hidden.staticAddress = nil
        #expect(StoredState(home: home, chosen: hidden).normalised().chosen?.staticAddress == address)
        let other = try network("Home", password: "another password")
        #expect(
            StoredState(home: home, backups: [other]).normalised().backups == [other], "by another password, another")
    }

    @Test func anAddressIsOneSmallChange() throws {
        var bare = state
        bare.changeNetworks { $0.staticAddress = nil }
        let before = bare.cells(keepingSlotsOf: [:])
        let changes = CellChanges.between(before, state.cells(keepingSlotsOf: before))
        #expect(Array(changes.keys) == [CellID(.address)])
    }

    @Test func anImpossibleLeaseIsNotStored() throws {
        func kept(_ change: (inout StoredLease) throws -> Void) throws -> StoredLease? {
            var state = state
            var lease = lease
            try change(&lease)
            state.statistics[garden.ssid] = NetworkStatistics(lease: lease)
            return state.normalised().statistics[garden.ssid]?.lease
        }
        let nothing = try #require(IPAddress("0.0.0.0"))
        let v6 = try #require(IPAddress("2001:db8::1"))
        #expect(try kept { _ in } == lease)
        #expect(try kept { $0.address = nothing } == nil)
        #expect(try kept { $0.address = v6 } == nil)
        #expect(try kept { $0.prefixLength = 300 } == nil)
        #expect(try kept { $0.prefixLength = -1 } == nil)
        #expect(try kept { $0.server = v6 } == nil)
        #expect(try kept { $0.gateway = nothing } == nil)
        #expect(try kept { $0.gateway = nil } == nil, "the hardware address of no gateway")
        #expect(try kept { $0.hardware = .broadcast } == nil)
        #expect(try kept { $0.gatewayHardware = .zero } == nil)
        let servers = ["10.1.0.1", "9.9.9.9"].compactMap { IPAddress($0) }
        #expect(try kept { $0.nameServers += [nothing, v6] }?.nameServers == servers)
    }

    @Test func leasesAreOfTheFirstNetworks() throws {
        var state = StoredState(home: home, backups: try (1...10).map { try network("Network \($0)") })
        for network in state.networks { state.statistics[network.ssid] = NetworkStatistics(lease: lease) }
        let kept = state.normalised()
        #expect(kept.statistics.count == 8)
        #expect(kept.networks.prefix(8).allSatisfy { kept.statistics[$0.ssid]?.lease == lease })
        #expect(StoredState(cells: state.cells(keepingSlotsOf: [:])) == kept)
    }

    @Test func anExportHasTheAddressAndAnImportNoLease() throws {
        let passphrase = Secret(text: "open sesame")
        let opened = try SealedExport.open(SealedExport.seal(state, under: passphrase), with: passphrase)
        #expect(opened == state)
        let store = try SimulatedBoard(SimulatedDisk()).open()
        try store.importState(opened, replacing: false)
        #expect(store.state.home?.staticAddress == address)
        #expect(store.state.statistics.isEmpty, "it was given to another device")
    }
}
