import AgentModel
import Testing

@testable import KeyFile

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
        #expect(refusal(StoredState(backups: [one, other])) == .duplicateBackup(one.ssid))
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
