import AgentModel
import KeyFileSimulation
import Testing

@testable import KeyFile

/// A newer password that waits beside a network's own, in the state and on the disk.
@Suite struct StagedPasswordTests {
    private func key(_ password: String) -> StagedPassword.Key {
        StagedPassword.Key(passphrase: Secret(text: password), psk: Secret([UInt8](repeating: 9, count: 32)))
    }

    private func staging(_ name: String, _ id: String, _ password: String = "new password", keepFor: UInt32? = nil)
        throws -> StagedPassword
    {
        StagedPassword(id: id, ssid: try SSID(name), key: key(password), since: 1_770_000_000, keepFor: keepFor)
    }

    private func state() throws -> StoredState {
        StoredState(home: try network("Home"), backups: [try network("Attic")], backupsRevision: 4)
    }

    @Test func isKeptAndTakesTheOldOnesPlace() throws {
        var state = try state()
        #expect(state.stage(try staging("Home", "a", keepFor: 604_800)))
        let cells = state.cells(keepingSlotsOf: [:])
        #expect(cells[CellID(kind: 151)]?.count == 1 + 4 + 4 + 2 + 5 + 13 + 32)
        #expect(StoredState(cells: cells) == state)
        let board = SimulatedBoard(SimulatedDisk())
        try board.open().commit(state)
        #expect(try board.open().state == state)

        #expect(state.stagedNetwork(of: try SSID("Home"))?.credential != state.home?.credential)
        state.endRotation("a", .committed)
        #expect(state.home?.credential == .passphrase(key("new password").passphrase, psk: key("").psk))
        #expect(state.staged.map(\.phase) == [.committed] && state.staged[0].key == nil)
        let attic = try network("Attic")
        #expect(state.backupsRevision == 5 && state.backups == [attic])
        // It is over: nothing of it happens again.
        state.endRotation("a", .dropped)
        #expect(state.staged.map(\.phase) == [.committed])
        try board.open().commit(state)
        #expect(try board.open().state == state)
    }

    /// A write for every second would wear the flash, and none would let a device that is switched off every night wait for
    /// ever.
    @Test func theTimeIsCountedCoarsely() throws {
        var state = try state()
        #expect(state.stage(try staging("Home", "a", keepFor: 604_800)))
        #expect(state.stage(try staging("Attic", "b")))
        let before = state
        state.countStaged(["a": 604_800 - 3599, "b": 5, "c": 5])
        #expect(state == before)
        state.countStaged(["a": 604_800 - 3600])
        #expect(state.staged.map(\.remaining) == [601_200, nil])
        // It never grows, and 0 is another thing in the cell.
        state.countStaged(["a": 604_800])
        #expect(state.staged[0].remaining == 601_200)
        state.countStaged(["a": 0])
        #expect(state.staged[0].remaining == 1 && StoredState(cells: state.cells(keepingSlotsOf: [:])) == state)
        state.endRotation("a", .expired)
        #expect(state.staged[0].remaining == nil)
        #expect(StagedPassword.countStep(at: 60) == 60 && StagedPassword.countStep(at: 16_000) == 1000)
    }

    @Test func oneWaitsForEachNameAndFourAreTold() throws {
        var state = try state()
        #expect(state.stage(try staging("Home", "a")))
        #expect(state.stage(try staging("Home", "b", "newer password")))
        #expect(state.staged.map(\.phase) == [.dropped, .staged])
        #expect(state.stage(try staging("Attic", "c")))
        #expect(state.stage(try staging("Home", "d")))
        #expect(state.stage(try staging("Home", "e")))
        #expect(state.staged.map(\.id) == ["b", "c", "d", "e"])
        #expect(state.staged.map(\.phase) == [.dropped, .staged, .dropped, .staged])
    }

    /// The password goes with the network, and where an app has stored it anyhow.
    @Test func endsWithItsNetwork() throws {
        var state = try state()
        #expect(state.stage(try staging("Attic", "a")))
        state.backups = []
        #expect(state.normalised().staged.map(\.phase) == [.dropped])
        state.backups = [try #require(state.home)]
        state = try self.state()
        #expect(state.stage(try staging("Attic", "a")))
        state.backups[0].credential = .passphrase(key("new password").passphrase, psk: key("").psk)
        #expect(state.normalised().staged.map(\.phase) == [.committed])
        // A network without a password has no newer one.
        state.backups = [try network("Attic", password: nil)]
        let last = try staging("Attic", "b")
        #expect(state.stage(last) && state.staged.last?.phase == .dropped)
    }

    /// An altnet that does not know the kind keeps the cells, and one that is nothing does not count.
    @Test func badCellsDoNotCount() throws {
        var state = try state()
        #expect(state.stage(try staging("Home", "a")))
        let good = state.cells(keepingSlotsOf: [:])
        let cell = try #require(good[CellID(kind: 151)])
        let bytes = cell.withBytes { Array($0) }
        var without = state
        without.staged = []
        for bad in [[], Array(bytes.dropLast()), bytes + [0], [9] + bytes.dropFirst(), [1] + bytes.dropFirst()] {
            var cells = good
            cells[CellID(kind: 151)] = Secret(bad)
            var findings: [StoreFinding] = []
            #expect(StoredState(cells: cells, findings: &findings) == without, "\(bad)")
            #expect(findings == [.cellsDropped(1)])
        }
        var twice = good
        twice[CellID(kind: 151, index: 1)] = cell
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: twice, findings: &findings) == state && findings == [.cellsDropped(1)])
    }
}
