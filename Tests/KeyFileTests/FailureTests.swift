import Glibc
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// The store on a disk, or a chip, that fails.
@Suite struct FailureTests {
    /// Any one operation of a commit fails, whether the commit appends or begins a new sector: then the commit is done
    /// elsewhere, or the old state stands in memory and on the medium, whatever happens next; and the next commit works.
    @Test(arguments: [Scenario.file, .smallestFlash, .pagedFlash], [ENOSPC, EIO, EROFS])
    func oneFailureChangesNothing(scenario: Scenario, errno: Int32) throws {
        var random = SeededRandom(seed: 7)
        var failures = 0
        for commits in [0, 1, 40] {
            for number in 0... {
                let (board, old) = try prepared(scenario, commits: commits)
                let store = try board.open()
                let accident = Accident(at: board.storage.operations + number, errno: errno)
                board.storage.accident = accident
                var new = try fullState()
                new.backupsRevision = 100
                let when: Comment = "\(commits) commits, operation \(number)"
                do throws(KeyFileError) {
                    try store.commit(new)
                    #expect(store.state == new)
                } catch {
                    guard case .system = error else { throw error }
                    failures += 1
                    #expect(store.state == old, when)
                }
                if board.storage.operations <= accident.at { break }
                try expect(store.state, on: board, using: &random, when)
                new.backupsRevision += 1
                try store.commit(new)
                try expect(new, on: board, using: &random, when)
                #expect(board.storage.violations == [])
            }
        }
        #expect(failures >= 3)
    }

    /// A board after so many commits, and the state that it holds. Fewer than `commits` sectors' worth of them, so that
    /// some of the tests' commits append and some move on.
    private func prepared(_ scenario: Scenario, commits: Int) throws -> (SimulatedBoard, StoredState) {
        let board = scenario.board(seed: 3)
        let store = try board.open()
        for revision in 0..<commits {
            var state = StoredState(backupsRevision: UInt64(revision + 1))
            state.home = try network("Home", password: "password \(revision)")
            try store.commit(state)
        }
        return (board, store.state)
    }

    private func expect(
        _ state: StoredState, on board: SimulatedBoard, using random: inout SeededRandom, _ when: Comment
    ) throws {
        for _ in 0..<4 {
            let restarted = try board.afterPowerCut(using: &random).open()
            #expect(restarted.state == state, when)
            #expect(restarted.report.allSatisfy { !$0.isSerious }, "\(when): \(restarted.report)")
        }
    }

    /// A key change during which any one operation fails leaves a store that opens, with the state that it had.
    @Test(arguments: [Scenario.anchoredFile, .smallFlash]) func oneFailureDuringAKeyChange(scenario: Scenario) throws {
        var random = SeededRandom(seed: 8)
        var failures = 0
        for number in 0... {
            let (board, state) = try prepared(scenario, commits: 3)
            let store = try board.open()
            let isOnStorage = number.isMultiple(of: 2) || board.storage === board.disk
            let storage = isOnStorage ? board.storage : board.disk
            let before = storage.operations + (board.storage === board.disk ? number : number / 2)
            storage.accident = Accident(at: before, errno: EIO)
            do throws(KeyFileError) {
                try store.changeRootKey(to: board.anotherRootKey())
            } catch {
                guard case .system = error else { throw error }
                failures += 1
            }
            #expect(store.state == state)
            try expect(state, on: board, using: &random, "operation \(number)")
            var next = state
            next.backupsRevision += 1
            try store.commit(next)
            try expect(next, on: board, using: &random, "operation \(number), next")
            if storage.operations <= before { break }
        }
        #expect(failures >= 4)
    }

    /// A disk that went read-only still tells the device its networks.
    @Test func readsFromADiskThatCannotBeWritten() throws {
        let (board, states) = try usedBoard(commits: 30)
        board.disk.refusesWrites = EROFS
        let store = try board.open()
        #expect(store.state == states.last)
        #expect(store.report.allSatisfy { if case .postponed = $0 { true } else { false } })
        let before = board.disk.files
        #expect(throws: KeyFileError.self) { try store.commit(StoredState(backupsRevision: 99)) }
        #expect(store.state == states.last)
        #expect(board.disk.files == before)
        board.disk.refusesWrites = nil
        var next = store.state
        next.backupsRevision += 1
        try board.open().commit(next)
        #expect(try board.open().state == next)
    }

    /// Not a single read may be taken for an empty store.
    @Test func anUnreadableDiskIsAnErrorAndNotAnEmptyStore() throws {
        let (board, states) = try usedBoard(commits: 30)
        let before = board.disk.operations
        #expect(try board.open().state == states.last)
        for operation in 0..<(board.disk.operations - before) {
            board.disk.accident = Accident(at: board.disk.operations + operation, errno: EIO)
            do throws(KeyFileError) {
                let store = try board.open()
                #expect(store.state == states.last || store.report.contains { $0.isSerious })
            } catch {
                guard case .system(_, _, EIO) = error else { throw error }
            }
            board.disk.accident = nil
            #expect(try board.open().state == states.last)
        }
    }
}
