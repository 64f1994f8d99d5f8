import AgentModel
import Randomness
import Testing

@testable import KeyFile

@Suite struct CellTests {
    private let home: StoredNetwork
    private let attic: StoredNetwork
    private let garden: StoredNetwork
    private let cafe: StoredNetwork

    init() throws {
        func network(_ name: String, _ password: String?) throws -> StoredNetwork {
            let psk = Secret(Array(repeating: UInt8(password?.utf8.count ?? 0), count: 32))
            return StoredNetwork(
                ssid: try SSID(name),
                credential: password.map { .passphrase(Secret(text: $0), psk: psk) } ?? .none)
        }
        home = try network("Home", "correct horse")
        attic = try network("Attic", "12345678")
        garden = try network("Garden", nil)
        cafe = try network("Cafe", nil)
    }

    /// The changes that a commit of `new` after `old` would write.
    private func changes(from old: StoredState, to new: StoredState) -> [CellID: Secret?] {
        let cells = old.cells(keepingSlotsOf: [:])
        return CellChanges.between(cells, new.cells(keepingSlotsOf: cells))
    }

    @Test func whateverIsWrittenIsReadAgain() throws {
        var random = SeededRandom(seed: 1)
        var cells: Cells = [:]
        for round in 0..<1000 {
            let state = try StoredState.arbitrary(using: &random)
            // From nothing and, more often, from what was there.
            if round.isMultiple(of: 10) { cells = [:] }
            let new = state.cells(keepingSlotsOf: cells)
            #expect(StoredState(cells: new) == state)
            #expect(state.cells(keepingSlotsOf: new) == new, "nothing is written for nothing")
            cells = new
        }
    }

    @Test func anEmptyStateHasNoCells() {
        #expect(StoredState().cells(keepingSlotsOf: [:]).isEmpty)
        #expect(StoredState(cells: [:]) == StoredState())
    }

    @Test func aNetworkInSeveralRolesIsThereOnce() {
        let state = StoredState(home: home, current: home, previous: attic, backups: [home, attic])
        let networks = state.cells(keepingSlotsOf: [:]).keys.filter { $0.kind == CellID.Kind.network.rawValue }
        #expect(networks.count == 2)
    }

    @Test func whatStaysKeepsItsPlace() {
        let old = StoredState(home: home, backups: [attic, garden])
        var new = old
        new.backups = [garden, attic]
        #expect(Set(changes(from: old, to: new).keys) == [CellID(.roles)], "another order")
        new = old
        new.backups = [cafe, garden]
        #expect(Set(changes(from: old, to: new).keys) == [CellID(.network, slot: 1)], "in the place of what went")
        new = old
        new.backups = [garden]
        let removal = changes(from: old, to: new)
        #expect(removal[CellID(.network, slot: 1)] == .some(nil), "no cell without a network")
        #expect(Set(removal.keys) == [CellID(.roles), CellID(.network, slot: 1)])
        new = old
        new.current = home
        #expect(Set(changes(from: old, to: new).keys) == [CellID(.roles)])
    }

    @Test func aChangedStatisticIsOneSmallCell() throws {
        var old = StoredState(home: home, backups: [attic, garden])
        for network in old.networks {
            old.statistics[network.ssid] = NetworkStatistics(
                lastSeen: 1, lastSignal: -60, lastFrequency: Frequency(megahertz: 2412), lastFailure: .timeout)
        }
        var new = old
        new.statistics[attic.ssid]?.lastSignal = -61
        let changes = changes(from: old, to: new)
        #expect(Array(changes.keys) == [CellID(.statistics, slot: 1)])
        var body = WipedBuffer(capacity: 100)
        try CellChanges.encode(changes, into: &body)
        #expect(body.count == 13)
    }

    @Test func aCounterIsOneSmallCell() throws {
        let old = StoredState(home: home, replayCounters: ["phone": 1, "cloud": 7])
        var new = old
        new.replayCounters["phone"] = 2
        #expect(changes(from: old, to: new).keys.map(\.kind) == [CellID.Kind.counter.rawValue])
    }

    @Test func twoNetworksOfOneNameShareTheirStatistics() throws {
        var other = home
        other.credential = .none
        let seen = NetworkStatistics(lastSeen: 5, lastSignal: -40)
        let old = StoredState(home: home, chosen: other, statistics: [home.ssid: seen])
        let cells = old.cells(keepingSlotsOf: [:])
        #expect(cells.keys.filter { $0.kind == CellID.Kind.statistics.rawValue }.count == 1)
        #expect(StoredState(cells: cells) == old)
        var new = old
        new.home = nil
        let left = new.cells(keepingSlotsOf: cells)
        #expect(StoredState(cells: left) == new, "they stay with the one that is left")
    }

    @Test func whatIsKnownOfStrangersIsDropped() {
        let known = NetworkStatistics(lastSeen: 5)
        let state = StoredState(
            home: home, statistics: [home.ssid: known, attic.ssid: known, garden.ssid: NetworkStatistics()])
        #expect(state.normalised().statistics == [home.ssid: known])
        #expect(StoredState(cells: state.cells(keepingSlotsOf: [:])) == state.normalised())
    }

    @Test(arguments: [-1, 0, 65_536, .max, .min])
    func aFrequencyThatCannotBeIsDropped(megahertz: Int) {
        let statistics = NetworkStatistics(lastSeen: 5, lastFrequency: Frequency(megahertz: megahertz))
        let state = StoredState(home: home, statistics: [home.ssid: statistics])
        #expect(state.normalised().statistics == [home.ssid: NetworkStatistics(lastSeen: 5)])
        #expect(StoredState(cells: state.cells(keepingSlotsOf: [:])) == state.normalised())
    }

    @Test func provenAccessPointsAreKept() throws {
        let proven = try [3, 1, 2].map { try #require(BSSID(bytes: [2, 0, 0, 0, 0, $0])) }
        let state = StoredState(
            home: home, statistics: [home.ssid: NetworkStatistics(lastSignal: -50, verifiedAccessPoints: proven)])
        let cells = state.cells(keepingSlotsOf: [:])
        #expect(cells[CellID(.statistics)]?.count == 1 + 1 + 1 + 18)
        #expect(StoredState(cells: cells) == state)
    }

    /// As earlier versions wrote it, and as no version writes it.
    @Test func aStatisticWithoutThemIsRead() throws {
        let old = Secret([2, UInt8(bitPattern: -50)])
        #expect(NetworkStatistics(cell: old) == NetworkStatistics(lastSignal: -50))
        for damaged: [UInt8] in [
            [16], [16, 5, 2, 0, 0, 0, 0], [16, 200], [16, 0], [16, 30] + Array(repeating: 2, count: 30),
        ] {
            var cells = StoredState(home: home).cells(keepingSlotsOf: [:])
            cells[CellID(.statistics)] = Secret(damaged)
            #expect(StoredState(cells: cells) == nil, "\(damaged)")
        }
    }

    @Test func oneMoreThanFourAndOneThatIsThereTwiceAreDropped() throws {
        let proven = try [1, 1, 2, 3, 4, 5].map { try #require(BSSID(bytes: [2, 0, 0, 0, 0, $0])) }
        let state = StoredState(home: home, statistics: [home.ssid: NetworkStatistics(verifiedAccessPoints: proven)])
        #expect(state.normalised().statistics[home.ssid]?.verifiedAccessPoints == Array(proven[1...4]))
        #expect(StoredState(cells: state.cells(keepingSlotsOf: [:])) == state.normalised())
    }

    /// Leases are included, because no owner sets them. Static addresses and options, which the owner sets, may take
    /// another sector.
    @Test(arguments: [(false, false, 3760), (true, false, 5305), (true, true, 7345)])
    func theLargestStateFitsIntoASector(hasAddresses: Bool, hasOptions: Bool, bytes: Int) throws {
        let servers = ["2001:db8::51", "2001:db8::52", "2001:db8::53"].compactMap { IPAddress($0) }
        let address = try StaticAddress(
            "192.168.1.20/24", gateway: IPAddress("192.168.1.1"), nameServers: servers)
        let options = NetworkOptions(
            allowsTKIP: true, isManual: true, isMetered: true, band: .six, bssid: BSSID("02:00:00:00:01:00"),
            ipv6: try StaticAddress("2001:db8::20/64", gateway: IPAddress("fe80::1"), nameServers: servers))
        let state = try largestState(
            address: hasAddresses ? address : nil, options: hasOptions ? options : .init())
        try state.validate()
        let cells = state.cells(keepingSlotsOf: [:])
        #expect(StoredState(cells: cells) == state)
        let size = cells.values.reduce(0) { $0 + 4 + $1.count }
        #expect(size == bytes)
        #expect((size <= Record.maximumBody - 16) == !hasAddresses)
    }

    /// Cells that a newer altnet stores beside the known ones stay, whatever this one changes.
    @Test func whatANewerAltnetStoresIsKept() throws {
        let newer: Cells = [
            CellID(kind: 131): Secret([1, 2, 3]), CellID(kind: 255, index: 254): Secret([]),
            CellID(kind: 131, index: 7): Secret(repeatElement(9, count: 5000)),
        ]
        let cells = try fullState().cells(keepingSlotsOf: [:]).merging(newer) { $1 }
        var state = try #require(StoredState(cells: cells))
        #expect(state.kept == newer)
        state.home = nil
        let changed = state.normalised().cells(keepingSlotsOf: cells)
        #expect(changed.filter { $0.key.kind >= 131 } == newer)
        #expect(StoredState(cells: changed) == state.normalised())
    }

    /// On disk: these numbers stay, whatever becomes of the order of the cases.
    @Test func codesAreFixed() {
        let securities: [Security] = [.open, .owe, .wpa2, .wpa3, .wpa2wpa3, .enterprise, .wep, .unknown, .legacy]
        #expect(securities.map(\.code) == Array(1...9))
        #expect(Set(securities) == Set(Security.allCases))
        let failures: [JoinFailure] = [
            .wrongKey, .accessPointFull, .notFound, .rejected, .timeout, .linkLost, .noAddress, .supplicantUnavailable,
            .interfaceDown, .captive, .noInternet, .unconfirmed, .interrupted,
            .lessSecure, .unsupportedSecurity,
        ]
        #expect(failures.map(\.code) == Array(1...15))
        #expect([LinkProtection.sae, .pmf, .owe].map(\.rawValue) == [1, 2, 4])
        // Stored as one that older versions know.
        #expect(JoinFailure.certificateRefused.code == JoinFailure.rejected.code)
        #expect(Set(failures + [.certificateRefused]) == Set(JoinFailure.allCases))
        for code in UInt8.min...UInt8.max {
            #expect(Security(code: code) == securities.first { $0.code == code })
            #expect(JoinFailure(code: code) == failures.first { $0.code == code })
        }
    }

    /// One byte for each network that has a floor, and none for any other.
    @Test func aFloorIsOneByte() throws {
        var new = StoredState(home: home, backups: [garden])
        let before = new.cells(keepingSlotsOf: [:])
        new.home?.minimumSecurity = [.sae, .pmf]
        new.backups[0].minimumSecurity = .owe
        let cells = new.cells(keepingSlotsOf: before)
        #expect(StoredState(cells: cells) == new)
        let bytes = cells.mapValues { $0.withBytes { Array($0) } }
        #expect(
            bytes[CellID(kind: 2)] == [6, 0, 3, 4] + Array("Home".utf8) + [13] + Array("correct horse".utf8)
                + Array(repeating: 13, count: 32))
        #expect(bytes[CellID(kind: 2, index: 1)] == [4, 0, 4, 6] + Array("Garden".utf8))
    }

    /// As altnet has written them that knew of no floor: what they say of the security, an access point may have
    /// claimed.
    @Test func anOldCellHasNoFloor() throws {
        let old: [UInt8] = [2, 4, 4] + Array("Home".utf8) + [13] + Array("correct horse".utf8)
        let cell = Secret(old + Array(repeating: 13, count: 32))
        let network = try #require(StoredNetwork(cell: cell))
        #expect(network.security == .wpa3)
        #expect(network.minimumSecurity == [])
        #expect(network.cell == cell, "nothing is written for nothing")
    }

    /// A floor that is nothing is not written, and a cell that ends before its floor is none.
    @Test(arguments: [[4, 0, 0, 1, 0x61], [4, 0], [4]] as [[UInt8]])
    func aCellThatIsNeverWrittenIsImpossible(_ bytes: [UInt8]) {
        let roles = Secret([0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff])
        #expect(StoredState(cells: [CellID(.roles): roles, CellID(.network): Secret(bytes)]) == nil)
    }

    @Test func theLayoutIsAsDocumented() throws {
        var state = StoredState(
            home: home, current: home, backups: [garden], backupsRevision: 0x0102,
            pendingSwitch: PendingSwitch(id: "7f3c", target: garden, cameFrom: home.ssid),
            replayCounters: ["app": 9])
        state.backups[0].isHidden = true
        state.backups[0].security = .owe
        state.pendingSwitch?.target = state.backups[0]
        state.statistics[home.ssid] = NetworkStatistics(
            lastSeen: 0x0506_0708, lastSignal: -61, lastFrequency: Frequency(megahertz: 2437), lastFailure: .noAddress)
        let cells = state.cells(keepingSlotsOf: [:]).mapValues { $0.withBytes { Array($0) } }
        #expect(cells.count == 6)
        #expect(cells[CellID(kind: 1)] == [0, 0, 0, 0, 0, 0, 1, 2, 0, 0xff, 0, 0xff, 1])
        #expect(
            cells[CellID(kind: 2)] == [2, 0, 4] + Array("Home".utf8) + [13] + Array("correct horse".utf8)
                + Array(repeating: 13, count: 32))
        #expect(cells[CellID(kind: 2, index: 1)] == [1, 2, 6] + Array("Garden".utf8))
        #expect(cells[CellID(kind: 3)] == [0x0f, 5, 6, 7, 8, 0xc3, 0x09, 0x85, 7])
        #expect(cells[CellID(kind: 4)] == [4] + Array("7f3c".utf8) + [1, 4] + Array("Home".utf8))
        state.pendingSwitch?.target = nil
        let visit = state.cells(keepingSlotsOf: [:])[CellID(kind: 4)]?.withBytes { Array($0) }
        #expect(visit == [4] + Array("7f3c".utf8) + [0xff, 4] + Array("Home".utf8))
        #expect(cells[CellID(kind: 5)] == [0, 0, 0, 0, 0, 0, 0, 9] + Array("app".utf8))
    }
}
