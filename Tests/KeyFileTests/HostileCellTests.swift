import AgentModel
import Randomness
import Testing

@testable import KeyFile

/// Cells are authenticated before they are read, and yet nothing is taken on trust.
@Suite struct HostileCellTests {
    /// Cells that are read are a valid state that altnet writes as these very cells, but for addresses and
    /// credentials of users, which are dropped where they cannot be; everything else is refused.
    private func expectSound(_ cells: Cells) -> Bool {
        guard let state = StoredState(cells: cells) else { return false }
        #expect(throws: Never.self) { try state.validate() }
        let written = state.cells(keepingSlotsOf: cells)
        func known(_ cells: Cells) -> Cells { cells.filter { !CellID.optionalKinds.contains($0.key.kind) } }
        #expect(known(written) == known(cells))
        #expect(StoredState(cells: written) == state)
        #expect(state.normalised() == state)
        return true
    }

    @Test func mutatedCells() throws {
        var random = SeededRandom(seed: 2)
        var accepted = 0
        for _ in 0..<1000 {
            var cells = try StoredState.arbitrary(using: &random).cells(keepingSlotsOf: [:])
            for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&cells, using: &random) }
            if expectSound(cells) { accepted += 1 }
        }
        #expect(accepted > 0, "a bit in a password or a number makes another valid state")
        #expect(accepted < 800)
    }

    @Test func cellsOfNothingButNoise() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<5000 {
            var cells: Cells = [:]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let kind = UInt8.random(in: 0...9, using: &random)
                let id = CellID(
                    kind: kind < 7 ? kind : kind == 9 ? 150 : 121 + kind, index: .random(in: 0...3, using: &random))
                cells[id] = noise(using: &random)
            }
            _ = expectSound(cells)
        }
    }

    private func noise(using random: inout SeededRandom) -> Secret {
        Secret((0..<Int.random(in: 0...140, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    private func mutate(_ cells: inout Cells, using random: inout SeededRandom) {
        guard let id = cells.keys.sorted().randomElement(using: &random), let cell = cells[id] else { return }
        var bytes = cell.withBytes { Array($0) }
        switch Int.random(in: 0..<7, using: &random) {
        case 0: cells[id] = nil
        case 1: cells[CellID(kind: id.kind, index: .random(in: 0...255, using: &random))] = cell
        case 2: cells[CellID(kind: .random(in: 0...255, using: &random), index: id.index)] = cell
        case 3: cells[id] = Secret(bytes.dropLast(Int.random(in: 0...bytes.count, using: &random)))
        case 4: cells[id] = Secret(bytes + [.random(in: 0...255, using: &random)])
        case 5: cells[id] = noise(using: &random)
        default:
            guard let index = bytes.indices.randomElement(using: &random) else { return }
            bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            cells[id] = Secret(bytes)
        }
    }

    /// Each breaks one rule.
    @Test func impossibleContentIsRefused() throws {
        func cell(_ bytes: [UInt8]) -> Secret { Secret(bytes) }
        let revision: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        let open = cell([0, 1, 1, 0x41])
        let roles = cell(revision + [0, 0xff, 0xff, 0xff])
        let valid: Cells = [CellID(.roles): roles, CellID(.network): open]
        #expect(StoredState(cells: valid)?.home?.ssid == (try SSID("A")))
        func refused(_ change: Cells, _ rule: Comment) {
            #expect(StoredState(cells: valid.merging(change) { $1 }) == nil, rule)
        }
        refused([CellID(.network, slot: 1): cell([0, 1, 1, 0x42])], "a network that nothing refers to")
        refused([CellID(.roles): cell(revision + [1, 0xff, 0xff, 0xff])], "a role of a network that is not there")
        refused([CellID(.roles): cell(revision + [0, 0xff, 0xff, 0xff, 0, 0])], "a backup that is there twice")
        refused([CellID(.roles): cell(revision + [0, 0xff, 0xff])], "half the roles")
        refused([CellID(.roles, slot: 1): roles], "roles in another place")
        refused([CellID(kind: 6): open], "an unknown kind")
        refused([CellID(kind: 127): open], "the last unknown kind that is not kept")
        refused([CellID(.network): cell([8, 1, 1, 0x41])], "an unknown flag")
        refused([CellID(.network): cell([0, 10, 1, 0x41])], "an unknown security")
        refused([CellID(.network): cell([0, 1, 0])], "an empty SSID")
        refused([CellID(.network): cell([0, 1, 33] + Array(repeating: 0x41, count: 33))], "an SSID of 33 bytes")
        refused([CellID(.network): cell([0, 1, 1, 0x41, 0])], "something behind the end")
        let short = [UInt8](repeating: 0x61, count: 7)
        refused(
            [CellID(.network): cell([2, 1, 1, 0x41, 7] + short + Array(repeating: 0, count: 32))],
            "a passphrase of 7 bytes")
        refused([CellID(.statistics): cell([0])], "statistics without content")
        refused([CellID(.statistics): cell([4, 0, 0])], "a frequency of 0")
        refused([CellID(.statistics): cell([8, 16])], "an unknown failure")
        refused([CellID(.statistics, slot: 1): cell([2, 0xc0])], "statistics of no network")
        refused([CellID(.counter): cell(revision)], "a counter without a name")
        refused([CellID(.counter): cell(revision + [0xff])], "a name that is no text")
        refused(
            [CellID(.counter): cell(revision + [0x61]), CellID(.counter, slot: 1): cell(revision + [0x61])],
            "a counter that is there twice")
        refused([CellID(.pendingSwitch): cell([1, 0x31, 7, 0])], "a switch to nowhere")
    }

    @Test func moreBackupsThanThereCanBeAreRefused() throws {
        var state = StoredState()
        for number in UInt8(1)...11 {
            state.backups.append(StoredNetwork(ssid: try SSID(bytes: [number]), credential: .none))
        }
        #expect(StoredState(cells: state.cells(keepingSlotsOf: [:])) == nil)
        state.backups.removeLast()
        #expect(StoredState(cells: state.cells(keepingSlotsOf: [:])) == state)
    }
}

@Suite struct ValidityTests {
    private func network(_ password: [UInt8], psk: Int = 32) throws -> StoredNetwork {
        StoredNetwork(
            ssid: try SSID("Home"),
            credential: .passphrase(Secret(password), psk: Secret(Array(repeating: 1, count: psk))))
    }

    private func refusal(_ state: StoredState, replacing old: StoredState = StoredState()) -> KeyFileError? {
        do { try state.validate(replacing: old) } catch { return error }
        return nil
    }

    @Test func networksInEveryRoleAreChecked() throws {
        let short = try network(Array("1234567".utf8))
        let expected = KeyFileError.invalidPassphrase(short.ssid, .length(7))
        #expect(refusal(StoredState(home: short)) == expected)
        #expect(refusal(StoredState(chosen: short)) == expected)
        #expect(refusal(StoredState(current: short)) == expected)
        #expect(refusal(StoredState(previous: short)) == expected)
        #expect(refusal(StoredState(backups: [short])) == expected)
        let pending = PendingSwitch(id: "1", target: short, cameFrom: nil)
        #expect(refusal(StoredState(pendingSwitch: pending)) == expected)
        #expect(
            refusal(StoredState(home: try network([0x1f] + Array("12345678".utf8))))
                == .invalidPassphrase(short.ssid, .notPrintableASCII))
        #expect(
            refusal(StoredState(home: try network(Array("12345678".utf8), psk: 31)))
                == .invalidKey(short.ssid, bytes: 31))
    }

    @Test func aBackupThatIsThereTwiceIsRefused() throws {
        let one = try network(Array("12345678".utf8))
        let other = try network(Array("87654321".utf8))
        #expect(refusal(StoredState(backups: [one, other, one])) == .duplicateBackup(one.ssid))
        #expect(refusal(StoredState(backups: [one, other])) == nil, "a network is its SSID and password")
        #expect(
            refusal(StoredState(home: one, backups: [other])) == nil, "home may be in the list under its old password")
    }

    @Test func aSwitchIdentifierHasItsLimit() throws {
        func state(_ id: String) throws -> StoredState {
            StoredState(
                pendingSwitch: PendingSwitch(id: id, target: try network(Array("12345678".utf8)), cameFrom: nil))
        }
        #expect(refusal(try state(String(repeating: "é", count: 32))) == nil)
        #expect(refusal(try state(String(repeating: "é", count: 33))) == .switchIdentifierTooLong(bytes: 66))
    }

    @Test func countersHaveTheirLimits() {
        func state(_ names: [String]) -> StoredState {
            StoredState(replayCounters: Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
        }
        #expect(refusal(state((1...8).map(String.init))) == nil)
        #expect(refusal(state((1...9).map(String.init))) == .tooManyCounters(count: 9, maximum: 8))
        #expect(refusal(state([""])) == .invalidCounterName)
        #expect(refusal(state([String(repeating: "é", count: 16)])) == nil)
        #expect(refusal(state([String(repeating: "é", count: 16) + "x"])) == .invalidCounterName)
    }

    @Test func countersNeverGoBack() {
        let old = StoredState(replayCounters: ["phone": 7, "cloud": .max])
        func refusal(_ counters: [String: UInt64]) -> KeyFileError? {
            self.refusal(StoredState(replayCounters: counters), replacing: old)
        }
        #expect(refusal(["phone": 7, "cloud": .max]) == nil)
        #expect(refusal(["phone": 8, "cloud": .max, "new": 0]) == nil)
        #expect(refusal(["phone": 6, "cloud": .max]) == .counterWouldGoBack(name: "phone"))
        #expect(refusal(["phone": 9, "cloud": 0]) == .counterWouldGoBack(name: "cloud"))
        #expect(refusal(["phone": 8]) == nil, "a sender that is one no longer")
    }
}
