import Glibc
import Randomness
import Testing

@testable import KeyFile

/// The store on a disk that loses its power, or fails, at every single operation.
@Suite struct PowerCutTests {
    /// Small states that follow one another, so that many cuts are quick.
    private static let history: [StoredState] = (0...5).map { revision in
        StoredState(
            home: try? network("Home", password: "password \(revision)"),
            backups: (0..<revision % 3).compactMap { try? network("Backup \($0)") }, backupsRevision: UInt64(revision))
    }

    /// Commits the history until an error.
    /// - Returns: how many commits were acknowledged.
    private func commitHistory(to disk: SimulatedDisk) -> Int {
        var acknowledged = 0
        do {
            let store = try KeyFile(disk)
            for state in Self.history {
                try store.commit(state)
                acknowledged += 1
            }
        } catch {}
        return acknowledged
    }

    /// The states that may be found after that many acknowledged commits: the last of them, or the one in flight.
    private func allowed(after acknowledged: Int) -> [StoredState] {
        ([StoredState()] + Self.history)[acknowledged...].prefix(2).map(\.self)
    }

    private func operationsOfHistory() -> Int {
        let disk = SimulatedDisk()
        disk.longestWrite = 60
        #expect(commitHistory(to: disk) == Self.history.count)
        return disk.operations
    }

    /// Cut at every operation, before and after it, with many outcomes each; then again at every operation of the
    /// recovery; then once more, and work on.
    @Test func losesNothingAcknowledgedAndInventsNothing() throws {
        var random = SeededRandom(seed: 5)
        var cuts = 0
        for cut in 0..<operationsOfHistory() {
            for round in 0..<32 {
                let disk = SimulatedDisk()
                disk.longestWrite = 60
                disk.accident = .losesPower(at: cut, afterwards: round.isMultiple(of: 2))
                let allowed = allowed(after: commitHistory(to: disk))
                cuts += 1 + (try recoverWithCuts(disk, allowed: allowed, using: &random))
            }
        }
        #expect(cuts > 10_000)
        print("key file: \(cuts) power cuts")
    }

    /// - Returns: how often the power was cut.
    private func recoverWithCuts(
        _ disk: SimulatedDisk, allowed: [StoredState], using random: inout SeededRandom
    ) throws -> Int {
        for cut in 0... {
            let restarted = disk.afterPowerCut(using: &random)
            restarted.accident = .losesPower(at: cut, afterwards: Bool.random(using: &random))
            let opened = try? KeyFile(restarted)
            let wasCut = restarted.operations > cut
            var expected = allowed
            if let opened, !wasCut {
                #expect(allowed.contains(opened.state))
                #expect(opened.report.allSatisfy { $0 == .interruptedCommitFinished })
                // What the store said is what it must say again.
                expected = [opened.state]
            }
            let last = restarted.afterPowerCut(using: &random)
            let store = try KeyFile(last)
            #expect(expected.contains(store.state))
            #expect(store.report.allSatisfy { $0 == .interruptedCommitFinished })
            let next = StoredState(backupsRevision: 99)
            try store.commit(next)
            let final = try KeyFile(last.afterPowerCut(using: &random))
            #expect(final.state == next)
            guard wasCut else { return cut }
        }
        return 0
    }

    /// Killed at every operation, started again, and only then the power is cut: what the second process read, and may
    /// have acted upon, stays.
    @Test func whatWasReadAfterAKillStays() throws {
        var random = SeededRandom(seed: 6)
        for cut in 0..<operationsOfHistory() {
            for afterwards in [false, true] {
                let disk = SimulatedDisk()
                disk.longestWrite = 60
                disk.accident = .losesPower(at: cut, afterwards: afterwards)
                let allowed = allowed(after: commitHistory(to: disk))
                let store = try KeyFile(disk.afterKill())
                #expect(allowed.contains(store.state))
                // A commit of what is there already is acknowledged without a write: so it must be durable.
                try store.commit(store.state)
                for _ in 0..<8 {
                    let restarted = try KeyFile(disk.afterPowerCut(using: &random))
                    #expect(restarted.state == store.state)
                }
            }
        }
    }

    /// Any one operation of a commit fails: the old state stands in memory and on disk, whatever happens next, and the
    /// next commit works.
    @Test(arguments: [ENOSPC, EIO, EROFS]) func oneFailureChangesNothing(errno: Int32) throws {
        var random = SeededRandom(seed: 7)
        var failures = 0
        for number in 0... {
            let disk = SimulatedDisk()
            disk.longestWrite = 60
            let store = try KeyFile(disk)
            try store.commit(Self.history[1])
            disk.accident = .fails(at: disk.operations + number, errno: errno)
            do {
                try store.commit(Self.history[2])
                break
            } catch {
                guard case .system(_, _, errno) = error else { throw error }
                failures += 1
            }
            #expect(store.state == Self.history[1])
            #expect(disk.openDescriptors == 0)
            for _ in 0..<32 {
                let restarted = try KeyFile(disk.afterPowerCut(using: &random))
                #expect(restarted.state == Self.history[1])
            }
            try store.commit(Self.history[2])
            for _ in 0..<32 {
                let restarted = try KeyFile(disk.afterPowerCut(using: &random))
                #expect(restarted.state == Self.history[2])
            }
        }
        #expect(failures >= 6, "create, several writes, sync, rename and directory sync")
    }

    /// The disk goes on failing after the new name is in place, so the old state cannot be brought back: the store then
    /// writes it again even though it looks unchanged.
    @Test func writesAgainWhatMayHaveBeenLost() throws {
        var random = SeededRandom(seed: 8)
        let disk = SimulatedDisk()
        let store = try KeyFile(disk)
        try store.commit(Self.history[1])
        disk.failsDirectorySync = true
        #expect(throws: KeyFileError.self) { try store.commit(Self.history[2]) }
        #expect(store.state == Self.history[1])
        disk.failsDirectorySync = false
        try store.commit(Self.history[1])
        for _ in 0..<32 {
            let restarted = try KeyFile(disk.afterPowerCut(using: &random))
            #expect(restarted.state == Self.history[1])
        }
    }

    /// What a refused commit could not take back is older than all that follows, also after a restart.
    @Test func everyAttemptHasItsOwnGeneration() throws {
        let disk = SimulatedDisk()
        func generation() throws -> UInt64 { try Image.decode(try #require(disk.files["keyfile"])).generation }
        let store = try KeyFile(disk)
        try store.commit(Self.history[1])
        #expect(try generation() == 1)
        disk.failsDirectorySync = true
        #expect(throws: KeyFileError.self) { try store.commit(Self.history[2]) }
        disk.failsDirectorySync = false
        #expect(try generation() == 3, "the refused one was 2, and the old state was written again")
        try KeyFile(disk.afterKill()).commit(Self.history[2])
        #expect(try generation() == 4)
    }

    /// A disk that went read-only in the middle of a commit still tells the device its networks.
    @Test func readsFromADiskThatCannotBeTidiedUp() throws {
        let newer = Image(generation: 2, state: Self.history[2]).bytes
        let older = Image(generation: 1, state: Self.history[1]).bytes
        let disk = SimulatedDisk(files: ["keyfile": older, "keyfile.new": newer])
        disk.refusesWrites = EROFS
        let store = try KeyFile(disk)
        #expect(store.state == Self.history[2])
        let error = KeyFileError.system(.synchronise, path: "simulated", errno: EROFS)
        #expect(store.report == [.interruptedCommitFinished, .repairPostponed(error)])
        #expect(throws: error) { try store.commit(Self.history[3]) }
        #expect(store.state == Self.history[2])
        #expect(disk.files == ["keyfile": older, "keyfile.new": newer])
        disk.refusesWrites = nil
        try store.commit(Self.history[3])
        #expect(try KeyFile(disk.afterKill()).state == Self.history[3])
    }

    @Test func anUnreadableDiskIsAnErrorAndNotAnEmptyStore() throws {
        let disk = SimulatedDisk(files: ["keyfile": Image(generation: 1, state: Self.history[1]).bytes])
        disk.accident = .fails(at: 2, errno: EIO)
        #expect(throws: KeyFileError.system(.read, path: "simulated", errno: EIO)) { try KeyFile(disk) }
        #expect(try KeyFile(disk).state == Self.history[1])
    }
}
