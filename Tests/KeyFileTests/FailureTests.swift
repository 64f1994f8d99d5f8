import AgentModel
import Glibc
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// The store on a disk, or a chip, that fails.
@Suite struct FailureTests {
    /// Any one operation of a commit fails, whether the commit appends or begins a new sector: then the commit is done
    /// elsewhere, or the old state stands in memory and on the medium, whatever happens next; and the next commit
    /// works.
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
        #expect(throws: KeyFileError.self) { try store.requireWritable() }
        #expect(throws: KeyFileError.self) { try store.commit(StoredState(backupsRevision: 99)) }
        #expect(throws: KeyFileError.self) { try store.requireWritable() }
        #expect(store.state == states.last)
        #expect(board.disk.files == before)
        board.disk.refusesWrites = nil
        try store.requireWritable()
        #expect(try board.open().state == states.last)
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

/// Sectors that cannot be read, or that only begin to be a store's.
@Suite struct UnreadableSectorTests {
    /// The newest sector cannot be read: the one before counts, and what cannot be read is not written over, so that it
    /// is found again if the disk recovers; by then it is older than what was stored meanwhile.
    @Test func aSectorThatCannotBeReadIsPassedOver() throws {
        let disk = FailingReads(try medium())
        let log = try open(disk)
        for number in 0..<60 { try log.commit(cells(number)) }
        let newest = try #require(log.position)
        disk.failing = try newestSector(of: disk)
        let second = try open(disk)
        #expect(second.report.contains { if case .sectorUnreadable = $0 { true } else { false } })
        #expect(second.report.contains { $0.isSerious })
        try second.commit(cells(1000))
        #expect(try #require(second.position).generation > newest.generation)
        for number in 0..<60 { try second.commit(cells(2000 + number)) }
        disk.failing = nil
        #expect(try open(disk).cells == cells(2059))
    }

    /// A disk of which nothing can be read is an error, not an empty store.
    @Test func aDiskThatCannotBeReadIsNoEmptyStore() throws {
        let disk = FailingReads(try medium())
        try open(disk).commit(cells(1))
        disk.failing = 0
        #expect(throws: KeyFileError.system(.read, path: "/dev/failing", errno: EIO)) { try open(disk) }
        disk.failing = nil
        #expect(try open(disk).cells == cells(1))
    }

    /// A chip whose very first write was cut short is a new chip; one that holds anything else is in other use.
    @Test(arguments: [16, 40, 64, 100])
    func aFirstWriteThatWasCutShortIsNoForeignContent(written: Int) throws {
        let whole = try medium()
        try open(whole).commit(cells(1))
        let torn = Array(whole.bytes.prefix(written)) + repeatElement(0xff, count: whole.bytes.count - written)
        let chip = try SimulatedFlash(#require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)), bytes: torn)
        let log = try open(chip)
        #expect(log.report == [.interruptedWrite])
        try log.commit(cells(2))
        #expect(try open(chip).cells == cells(2))
        #expect(chip.violations == [])
    }

    @Test func foreignContentIsNotWrittenOver() throws {
        let chip = try medium()
        var bytes = chip.bytes
        bytes.replaceSubrange(0..<16, with: Array("\u{7f}ELF and the rest".utf8.prefix(16)))
        let foreign = SimulatedFlash(chip.geometry, bytes: bytes)
        let log = try open(foreign)
        #expect(log.report == [.unreadable(keptAs: nil)])
        #expect(throws: KeyFileError.foreignContent(path: "/dev/simulated")) { try log.commit(cells(1)) }
        #expect(foreign.bytes == bytes)
    }

    /// A state that does not fit is refused before anything is written.
    @Test func whatIsTooLargeWearsNothing() throws {
        let chip = try medium()
        let log = try open(chip)
        try log.commit(cells(1))
        let (erased, bytes) = (chip.eraseCounts, chip.bytes)
        let large = Secret(repeatElement(1, count: 5000))
        #expect(throws: KeyFileError.stateTooLarge(bytes: 10_008, maximum: 5_776)) {
            try log.commit([CellID(kind: 1): large, CellID(kind: 2): large])
        }
        #expect(chip.eraseCounts == erased)
        #expect(chip.bytes == bytes)
        #expect(log.cells == cells(1))
    }

    private func medium() throws -> SimulatedFlash {
        SimulatedFlash(try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)))
    }

    private func open(_ medium: any Medium) throws(KeyFileError) -> RecordLog {
        try RecordLog(
            medium: medium, roots: [testRoot], path: "/store/keyfile", random: SeededRandom(seed: 1), now: { 0 })
    }

    private func cells(_ number: Int) -> Cells {
        [CellID(kind: 1): Secret(text: "\(number)"), CellID(kind: 2): Secret(repeatElement(9, count: 300))]
    }

    private func newestSector(of medium: any Medium) throws -> Int {
        let scans = (0..<medium.geometry.sectorCount).map { SectorScan($0, of: medium) }
        return try #require(scans.max { ($0.header?.sequence ?? 0) < ($1.header?.sequence ?? 0) }).index
    }
}

/// A chip of which one sector cannot be read.
private final class FailingReads: Medium {
    var failing: Int?
    private let chip: SimulatedFlash

    init(_ chip: SimulatedFlash) { self.chip = chip }

    var geometry: Geometry { chip.geometry }
    var isPresent: Bool { true }
    func requireWritable() throws(KeyFileError) {}

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        guard offset / geometry.sectorSize != failing else { throw .system(.read, path: "/dev/failing", errno: EIO) }
        try chip.read(at: offset, into: buffer)
    }

    func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) {
        try chip.begin(sector: sector, with: bytes)
    }

    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try chip.append(bytes, at: offset)
    }

    func erase(sector: Int) throws(KeyFileError) { try chip.erase(sector: sector) }
    func synchronise() throws(KeyFileError) { try chip.synchronise() }
    func setAside() throws(KeyFileError) -> String? { try chip.setAside() }
}
