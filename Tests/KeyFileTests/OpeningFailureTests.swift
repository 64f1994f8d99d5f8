import Glibc
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// The disk stumbles once while the store is opened: what is acknowledged afterwards is found after a restart and after
/// a power cut, and what was acknowledged before is not given up for an older state.
@Suite struct OpeningFailureTests {
    @Test func aCommitAfterATroubledOpeningStays() throws {
        let (board, _) = try usedBoard(commits: 100)
        try openWithFailures { seed in SimulatedBoard(SimulatedDisk(files: board.disk.files, seed: seed)) }
    }

    /// One wrong bit makes the opening write.
    @Test func aCommitAfterATroubledRepairStays() throws {
        let (board, _) = try usedBoard(commits: 100)
        var bytes = board.store
        let newest = try newestSector(of: bytes)
        bytes[newest * Geometry.file.sectorSize + SectorHeader.size + 40] ^= 4
        var files = board.disk.files
        files[SimulatedDisk.storeName] = bytes
        try openWithFailures { seed in SimulatedBoard(SimulatedDisk(files: files, seed: seed)) }
    }

    /// Killed between write and sync: the record is in the system's memory only.
    @Test func aCommitAfterAKillAndATroubledOpeningStays() throws {
        var random = SeededRandom(seed: 9)
        for commits in [5, 37] {
            let (board, _) = try usedBoard(commits: commits)
            let store = try board.open()
            var killed: SimulatedBoard?
            var operations = 0
            board.onOperation = {
                operations += 1
                if operations == 2 { killed = board.afterKill(using: &random) }
            }
            try store.commit(next(store.state))
            board.onOperation = nil
            let after = try #require(killed)
            try openWithFailures { _ in after.afterKill(using: &random) }
        }
    }

    /// A change of keys that was cut short is decided on what is certain only: each of the two keys is kept until then.
    @Test func aKeyChangeIsNotDecidedInDoubt() throws {
        var random = SeededRandom(seed: 10)
        let (board, states) = try usedBoard(commits: 6)
        let store = try board.open()
        var copies: [SimulatedBoard] = []
        board.onOperation = { copies += [board.afterKill(using: &random), board.afterPowerCut(using: &random)] }
        try store.changeRootKey(to: board.anotherRootKey())
        board.onOperation = nil
        for copy in copies {
            for number in 0..<200 {
                let board = copy.afterKill(using: &random)
                let accident = Accident(at: board.disk.operations + number, errno: EIO)
                board.disk.accident = accident
                _ = try? board.open()
                let isOver = board.disk.operations <= accident.at
                board.disk.accident = nil
                #expect(try board.afterKill(using: &random).open().state == states.last)
                #expect(try board.afterPowerCut(using: &random).open().state == states.last)
                if isOver { break }
            }
        }
    }

    /// The remains of a failed sync are up to chance, so the operation fails many times if they matter.
    private func openWithFailures(_ make: (_ seed: UInt64) throws -> SimulatedBoard) throws {
        var random = SeededRandom(seed: 5)
        for number in 0..<400 {
            var isOver = false
            for seed in 0..<40 as Range<UInt64> {
                let board = try make(seed)
                let accident = Accident(at: board.disk.operations + number, errno: EIO)
                board.disk.accident = accident
                guard let store = try? board.open() else { continue }
                isOver = board.disk.operations <= accident.at
                board.disk.accident = nil
                let isTroubled = store.report.contains { if case .postponed = $0 { true } else { false } }
                guard seed == 0 || isTroubled else { break }
                let new = next(store.state)
                try store.commit(new)
                #expect(try board.afterKill(using: &random).open().state == new, "operation \(number), restart")
                let cut = try board.afterPowerCut(using: &random).open()
                #expect(cut.state == new, "operation \(number), power cut")
            }
            if isOver { return }
        }
        Issue.record("the opening never ends")
    }

    private func next(_ state: StoredState) -> StoredState {
        var next = state
        next.backupsRevision += 1000
        return next
    }

    private func newestSector(of bytes: [UInt8]) throws -> Int {
        let medium = try SimulatedDisk(files: [SimulatedDisk.storeName: bytes]).medium()
        let scans = (0..<medium.geometry.sectorCount).map { SectorScan($0, of: medium) }
        return try #require(scans.max { ($0.header?.sequence ?? 0) < ($1.header?.sequence ?? 0) }).index
    }

    /// One read that fails does not cost the newest state.
    @Test func aReadThatFailsOnceCostsNothing() throws {
        let (used, states) = try usedBoard(commits: 300)
        for number in 0..<200 {
            let board = used.replacingStore(with: used.store)
            board.disk.accident = Accident(at: number, errno: EIO)
            let store = try? board.open()
            let isOver = board.disk.operations <= number
            board.disk.accident = nil
            if let store { #expect(store.state == states.last) }
            #expect(try board.replacingStore(with: board.store).open().state == states.last)
            if isOver { return }
        }
        Issue.record("the opening never ends")
    }

    /// Forged numbers under right checksums do not lift a repaired old image over the anchor.
    @Test func theAnchorIsComparedWithWhatWasFound() throws {
        let (board, _) = try usedBoard(commits: 60, isAnchored: true)
        var old = board.store
        let store = try board.open()
        try store.commit(next(store.state))
        let newest = try newestSector(of: old)
        old[newest * Geometry.file.sectorSize + SectorHeader.size + 40] ^= 4
        let report = try board.replacingStore(with: old).open().report
        #expect(report.contains { if case .rolledBack = $0 { true } else { false } })
        #expect(report.contains { if case .bitsCorrected = $0 { true } else { false } })
    }

    @Test func aMissingAnchorIsNoticed() throws {
        let (board, _) = try usedBoard(commits: 10, isAnchored: true)
        var files = board.disk.files
        files["anchor"] = nil
        let without = SimulatedBoard(SimulatedDisk(files: files), isAnchored: true)
        #expect(try without.open().report == [.anchorMissing])
        #expect(try without.open().report == [], "a new one was begun")
    }

    /// A device that is not there yet is not a file to be made in the memory of /dev.
    @Test func aMissingDeviceIsNoFile() {
        #expect(throws: KeyFileError.system(.open, path: "/dev/altnet-missing", errno: ENOENT)) {
            try DeviceMedium.open(path: "/dev/altnet-missing")
        }
    }
}
