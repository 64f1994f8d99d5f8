import KeyFileSimulation
import Testing

@testable import KeyFile

/// The writes of the store, and how often they happen.
// covers: seed/credentials-in-flash
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

    /// A state that fits into a sector costs what it cost before there were larger ones, to the byte, sync and erase.
    @Test(arguments: [Scenario.file, .smallFlash, .pagedFlash])
    func smallStatesCostWhatTheyCostInTheFormerVersion(scenario: Scenario) throws {
        var costs: [[Int]] = []
        for version in SectorHeader.readableVersions {
            let board = scenario.board(seed: 5)
            board.version = version
            var walk = StateWalk(seed: 63)
            let store = try board.open()
            for _ in 0..<400 { try store.commit(walk.next()) }
            let flash = board.storage as? SimulatedFlash
            costs.append(
                [store.usage.bytesWritten, store.usage.sectorsBegun, board.storage.writes, board.disk.bytesWritten]
                    + (flash?.eraseCounts ?? []))
            #expect(store.usage.sectorsBegun > 3)
        }
        #expect(costs.count == 2)
        #expect(costs[0] == costs[1])
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
        // The headers tell the truth.
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

@Suite struct WearEstimateTests {
    private static let day: UInt32 = 86_400
    private static let start: UInt32 = 1_700_000_000

    /// Sectors of 4096 bytes begun on these days, a quarter of the last one used since.
    private func sectors(begunOn days: [Int?], eraseCount: UInt32 = 10) -> [SectorReport] {
        days.enumerated().map { index, day in
            var report = SectorReport(index: index, state: day == nil ? .blank : .older, size: 4096)
            guard let day else { return report }
            report.header = .init(
                eraseCount: eraseCount, sequence: UInt64(100 + index),
                begun: UInt32(clamping: Int(Self.start) + day * Int(Self.day)))
            report.records = 21
            report.isClosed = index + 1 < days.count && days[index + 1] != nil
            report.usedByBeginning = 96
            report.used = report.isClosed ? 4096 : 1096
            return report
        }
    }

    @Test func theRateIsWhatWasWritten() throws {
        let estimate = WearEstimate(
            sectors(begunOn: [0, 10, 20, nil]), now: Self.start + 25 * Self.day, cycles: 100_000)
        let rate = try #require(estimate.rate)
        #expect(estimate.obstacle == nil)
        #expect(estimate.eraseCounts == 10...10)
        #expect(rate.span == 25 * Self.day)
        #expect(rate.sectorsBegun == 2.25)
        #expect(rate.bytesPerDay == 2.25 * 4096 / 25)
        // 20 commits a closed sector and 21 in the last, but the first snapshot was there when the time began.
        #expect(abs(rate.commitsPerYear - 60 * 365.25 / 25) < 1e-6)
        #expect(abs(rate.erasesPerSectorAndYear - 2.25 / 4 * 365.25 / 25) < 1e-9)
        #expect(abs(rate.pageBytesPerYear - (60 + 2.25) * 4096 * 365.25 / 25) < 1e-3)
        #expect(abs((rate.yearsLeft ?? 0) - 99_990 / (2.25 / 4 * 365.25 / 25)) < 1e-6)
        #expect(abs((rate.yearsWithoutLevelling ?? 0) - 100_000 / (60 * 365.25 / 25)) < 1e-6)
    }

    @Test func wornFlashHasNothingLeft() {
        let estimate = WearEstimate(
            sectors(begunOn: [0, 10], eraseCount: 2000), now: Self.start + 20 * Self.day, cycles: 1000)
        #expect(estimate.rate?.yearsLeft == 0)
    }

    @Test func nothingWrittenNeverWears() {
        var idle = sectors(begunOn: [0, nil])
        idle[0].records = 1
        idle[0].used = idle[0].usedByBeginning
        let rate = WearEstimate(idle, now: Self.start + 20 * Self.day).rate
        #expect(rate?.sectorsBegun == 0)
        #expect(rate?.yearsLeft == nil)
        #expect(rate?.yearsWithoutLevelling == nil)
    }

    @Test func withoutHistoryThereIsNoFigure() {
        #expect(WearEstimate(sectors(begunOn: [nil, nil]), now: Self.start).obstacle == .nothingStored)
        #expect(WearEstimate([], now: Self.start).obstacle == .nothingStored)
        let young = WearEstimate(sectors(begunOn: [0]), now: Self.start + Self.day - 1)
        #expect(young.obstacle == .tooShort(seconds: Self.day - 1))
        #expect(young.rate == nil)
        #expect(WearEstimate(sectors(begunOn: [0]), now: Self.start + Self.day).rate != nil)
    }

    @Test func aClockThatWentBackGivesNoFigure() {
        let now = Self.start + 30 * Self.day
        #expect(WearEstimate(sectors(begunOn: [0, 20, 10]), now: now).obstacle == .clockSetBack)
        #expect(WearEstimate(sectors(begunOn: [0, 40]), now: now).obstacle == .clockSetBack)
        #expect(WearEstimate(sectors(begunOn: [0, 10]), now: 1000).obstacle == .clockNotSet)
    }

    /// A board without a clock of its own begins its first sector in 1970.
    @Test func sectorsWithoutATimeAreLeftOut() throws {
        let days = -Int(Self.start / Self.day)
        let now = Self.start + 20 * Self.day
        #expect(WearEstimate(sectors(begunOn: [days]), now: now).obstacle == .clockNotSet)
        let rate = try #require(WearEstimate(sectors(begunOn: [days, 0, 10]), now: now).rate)
        #expect(rate.span == 20 * Self.day)
        #expect(rate.sectorsBegun == 1.25)
    }
}
