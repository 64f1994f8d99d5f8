import KeyFileSimulation
import Testing

@testable import KeyFile

/// What the store writes, and how often.
@Suite struct WearTests {
    @Test func writesNothingWhenNothingIsDifferent() throws {
        let (board, states) = try usedBoard(commits: 20)
        let store = try board.open()
        let writes = board.disk.writes
        for _ in 0..<10 { try store.commit(try #require(states.last)) }
        #expect(board.disk.writes == writes)
    }

    /// One sync for each commit, whether it appends or begins a sector; and few bytes.
    @Test func oneSyncForEachCommit() throws {
        let board = SimulatedBoard(SimulatedDisk())
        let store = try board.open()
        try store.commit(try fullState())
        var state = store.state
        let (syncs, bytes) = (board.disk.synchronisations, board.disk.bytesWritten)
        let commits = 500
        for number in 1...commits {
            state.backups[0] = try network("Attic", password: "password \(number)")
            state.backupsRevision += 1
            try store.commit(state)
        }
        #expect(board.disk.synchronisations - syncs == commits)
        let each = (board.disk.bytesWritten - bytes) / commits
        print("key file: \(each) bytes for each change of a password, rotation included")
        #expect(each < 600)
    }

    /// All sectors are erased equally often.
    @Test func wearsAllSectorsAlike() throws {
        let geometry = try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16))
        let flash = SimulatedFlash(geometry)
        let board = SimulatedBoard(flash)
        var walk = StateWalk(seed: 60)
        for _ in 0..<20 {
            let store = try board.open()
            for _ in 0..<50 { try store.commit(walk.next()) }
        }
        let most = try #require(flash.eraseCounts.max())
        let least = try #require(flash.eraseCounts.min())
        #expect(most > 5)
        #expect(most - least <= 1, "\(flash.eraseCounts)")
        #expect(flash.violations == [])
        // What the headers say is what happened.
        for sector in 0..<geometry.sectorCount {
            let header = SectorScan(sector, of: flash).header
            #expect(header.map { Int($0.eraseCount) } == flash.eraseCounts[sector])
        }
    }

    /// A sector that the chip has given up is passed over.
    @Test func goesOnWithoutABadSector() throws {
        let board = Scenario.wornFlash.board(seed: 61)
        let store = try board.open()
        var walk = StateWalk(seed: 62)
        for _ in 0..<300 { try store.commit(walk.next()) }
        #expect(try board.open().state == store.state)
    }
}
