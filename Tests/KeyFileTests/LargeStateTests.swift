import AgentModel
import Glibc
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// States that take several sectors.
@Suite struct LargeStateTests {
    /// Cells that take so many bytes together, heads included.
    private func cells(_ size: Int, seed: Int = 0) -> Cells {
        var cells: Cells = [:]
        var rest = size
        while rest > 0 {
            let count = min(rest, 3000)
            // The rest must hold a head.
            let taken = rest - count > 0 && rest - count < 4 ? count - 4 : count
            let id = CellID(kind: 200, index: UInt8(cells.count))
            cells[id] = Secret((0..<taken - 4).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ seed) })
            rest -= taken
        }
        #expect(CellChanges.size(of: cells) == size)
        return cells
    }

    private func flash(_ sectors: Int, bad: Set<Int> = []) throws -> SimulatedFlash {
        let flash = SimulatedFlash(try #require(Geometry(sectorSize: 4096, sectorCount: sectors, writeUnit: 16)))
        flash.badSectors = bad
        return flash
    }

    @Test(arguments: [4 << 10, 20 << 10, 64 << 10]) func takesStatesOf(size: Int) throws {
        for storage in [SimulatedDisk() as any SimulatedStorage, try flash(36), try flash(40, bad: [0, 9, 39])] {
            let log = try RecordLog(on: storage)
            try log.commit(cells(300))
            for round in 0..<3 {
                try log.commit(cells(size, seed: round))
                // And a small change of it.
                let small = cells(size, seed: round).merging([CellID(kind: 200): Secret([1, 2])]) { $1 }
                try log.commit(small)
                let reopened = try RecordLog(on: storage)
                #expect(reopened.report == [])
                #expect(reopened.cells == small)
                #expect(log.cells == small)
            }
            #expect(storage.violations == [])
        }
    }

    /// One byte more than the limit is refused with what there is and what there is room for; nothing is lost or worn.
    @Test func oneByteMoreIsRefused() throws {
        let disk = SimulatedDisk()
        let log = try RecordLog(on: disk)
        try log.commit(cells(64 << 10))
        let writes = disk.writes
        let error = KeyFileError.stateTooLarge(bytes: (64 << 10) + 1, maximum: 64 << 10)
        #expect(throws: error) { try log.commit(cells((64 << 10) + 1)) }
        #expect(disk.writes == writes)
        #expect(log.cells == cells(64 << 10))
        #expect(try RecordLog(on: disk).cells == cells(64 << 10))
        #expect(error.description.contains("65537 bytes") && error.description.contains(":"))
    }

    /// A chip has room for what half of its good sectors take: so there is always a whole state beside the one that is
    /// being written.
    @Test func aChipWithTooFewGoodSectorsRefusesALargeState() throws {
        let chip = try flash(12, bad: [2, 5, 6])
        let log = try RecordLog(on: chip)
        try log.commit(cells(1000))
        let (bytes, erased) = (chip.bytes, chip.eraseCounts)
        // Of nine good sectors four: three full ones and half of one.
        let maximum = 3 * Record.maximumBody + 1888 - Record.tagSize
        #expect(throws: KeyFileError.stateTooLarge(bytes: 20_000, maximum: maximum)) { try log.commit(cells(20_000)) }
        #expect(chip.bytes == bytes)
        #expect(chip.eraseCounts == erased)
        #expect(try RecordLog(on: chip).cells == cells(1000))
        for round in 0..<8 {
            try log.commit(cells(maximum, seed: round))
            #expect(try RecordLog(on: chip).cells == cells(maximum, seed: round))
        }
        #expect(chip.violations == [])
    }

    /// Sectors that go bad while the store is in use: what was stored stays, and the error says what the matter is.
    @Test func sectorsThatGoBadLoseNothing() throws {
        let chip = try flash(12)
        let log = try RecordLog(on: chip)
        try log.commit(cells(15_000))
        for sector in 0..<12 {
            chip.badSectors.insert(sector)
            let before = log.cells
            // A chip can still be read where it cannot be written.
            do throws(KeyFileError) {
                try log.commit(cells(15_000, seed: sector + 1))
                #expect(try RecordLog(on: chip).cells == cells(15_000, seed: sector + 1))
            } catch {
                switch error {
                case .stateTooLarge, .badSector: break
                default: throw error
                }
                #expect(log.cells == before)
                #expect(try RecordLog(on: chip).cells == before)
            }
        }
    }

    /// A file that grows is made anew beside its place: cut short at any step, the old one or the new one is there.
    @Test func aCutWhileTheStoreGrowsLosesNothing() throws {
        for storage in [SimulatedDisk() as any SimulatedStorage, try flash(20)] {
            let board = SimulatedBoard(storage)
            var random = SeededRandom(seed: 4)
            let old = try fullState()
            let store = try board.open()
            try store.commit(old)
            var new = old
            new.kept = cells(20 << 10)
            var copies: [SimulatedBoard] = []
            board.onOperation = {
                for outcome in [CutOutcome.before, .mixed, .prefix] {
                    copies.append(board.afterPowerCut(outcome, using: &random))
                }
            }
            try store.commit(new)
            board.onOperation = nil
            #expect(copies.count >= 30)
            for copy in copies {
                let found = try copy.open()
                #expect([old, new].contains(found.state))
                #expect(found.report.allSatisfy { !$0.isSerious }, "\(found.report)")
                try found.commit(new)
                #expect(try copy.afterPowerCut(using: &random).open().state == new)
            }
            #expect(storage.violations == [])
        }
    }

    /// Any one operation fails: the old state stands or the new one is acknowledged, also while a file grows.
    @Test(arguments: [EIO, ENOSPC]) func oneFailureLosesNothing(errno: Int32) throws {
        var random = SeededRandom(seed: 5)
        for isFlash in [false, true] {
            var failures = 0
            for number in 0... {
                let storage: any SimulatedStorage = isFlash ? try flash(20) : SimulatedDisk()
                let board = SimulatedBoard(storage)
                let store = try board.open()
                try store.commit(try fullState())
                var new = store.state
                new.kept = cells(12_000 + number % 3 * 5000)
                let at = storage.operations + number
                storage.accident = Accident(at: at, errno: errno)
                let old = store.state
                do throws(KeyFileError) { try store.commit(new) } catch {
                    failures += 1
                    #expect(store.state == old)
                }
                let expected = store.state
                #expect(try board.afterPowerCut(using: &random).open().state == expected, "operation \(number)")
                new.backupsRevision += 1
                try store.commit(new)
                #expect(try board.afterPowerCut(using: &random).open().state == new, "operation \(number), next")
                #expect(storage.violations == [])
                if storage.operations <= at { break }
            }
            #expect(failures >= 3)
        }
    }

    /// A part that is damaged takes its snapshot with it: the state before stands, and the loss is said.
    @Test func aDamagedPartIsNoticed() throws {
        let chip = try flash(24)
        let log = try RecordLog(on: chip)
        try log.commit(cells(20_000, seed: 1))
        try log.commit(cells(20_000, seed: 2))
        let span = try #require(
            scans(of: chip).filter(\.isPartial).max { $0.header?.sequence ?? 0 < $1.header?.sequence ?? 0 })
        var bytes = chip.bytes
        for offset in 200..<240 { bytes[span.index * 4096 + offset] ^= 0x5a }
        let damaged = try RecordLog(on: SimulatedFlash(chip.geometry, bytes: bytes))
        #expect(damaged.cells == cells(20_000, seed: 1))
        #expect(damaged.report.contains { $0.isSerious })
        // One bit is put right, in a part as anywhere.
        bytes = chip.bytes
        bytes[span.index * 4096 + 200] ^= 4
        let flipped = try RecordLog(on: SimulatedFlash(chip.geometry, bytes: bytes))
        #expect(flipped.cells == cells(20_000, seed: 2))
        #expect(flipped.report == [.bitsCorrected(records: 1)])
    }

    /// A part of another snapshot in the place of one is not taken for it.
    @Test func aPartOfAnotherSnapshotIsRefused() throws {
        let chip = try flash(24)
        let log = try RecordLog(on: chip)
        try log.commit(cells(20_000, seed: 1))
        let first = scans(of: chip).filter(\.isPartial).map(\.index)
        try log.commit(cells(20_000, seed: 2))
        let second = scans(of: chip).filter { $0.isPartial && !first.contains($0.index) }.map(\.index)
        #expect(first.count == second.count && first.count >= 4)
        var bytes = chip.bytes
        let (from, to) = (first[2] * 4096, second[2] * 4096)
        bytes.replaceSubrange(to..<to + 4096, with: bytes[from..<from + 4096])
        let mixed = try RecordLog(on: SimulatedFlash(chip.geometry, bytes: bytes))
        #expect(mixed.cells == cells(20_000, seed: 1))
        #expect(mixed.report.contains { $0.isSerious })
    }

    /// The root key is changed of a large state as of a small one.
    @Test func aLargeStateIsPutUnderAnotherKey() throws {
        let board = SimulatedBoard(try flash(24), isAnchored: true)
        let store = try board.open()
        var state = try fullState()
        state.kept = cells(20_000)
        try store.commit(state)
        try store.changeRootKey(to: board.anotherRootKey())
        let reopened = try board.open()
        #expect(reopened.state == state)
        #expect(reopened.report == [])
        let examined = try Examination(
            of: board.storage.medium(), roots: [try #require(try board.rootKey.load()).current], path: "/d")
        #expect(examined.verdict == .inOrder)
        if case .state(let found, _) = examined.content { #expect(found == state) } else { Issue.record("no state") }
        #expect(examined.sectors.count { $0.state == .current } == 6)
    }

    /// `verify` finds nothing amiss with large states in whatever order sectors are used.
    @Test func aChainOfLargeStatesIsInOrder() throws {
        let chip = try flash(20, bad: [4])
        let log = try RecordLog(on: chip)
        for round in 0..<9 {
            try log.commit(cells(round % 3 == 0 ? 900 : 9000 + round * 900, seed: round))
            let examined = try Examination(of: chip, roots: [testRoot], path: "/d")
            #expect(examined.findings == [])
            #expect(examined.sectors.flatMap(\.problems) == [], "round \(round)")
        }
    }

    /// A change of a large state is written alone, and a snapshot leaves room for many of them.
    @Test func aChangeOfALargeStateCostsItselfOnly() throws {
        let chip = try flash(40)
        let log = try RecordLog(on: chip)
        var state = cells(64 << 10)
        try log.commit(state)
        let bytes = log.usage.bytesWritten
        state[CellID(kind: 200)] = Secret((0..<40).map { UInt8($0) })
        try log.commit(state)
        #expect(log.usage.bytesWritten - bytes == Record.overhead + 4 + 40)
        let begun = log.usage.sectorsBegun
        for number in 0..<18 {
            state[CellID(kind: 200)] = Secret((0..<40).map { UInt8($0 + number + 1) })
            try log.commit(state)
        }
        #expect(log.usage.sectorsBegun == begun)
    }

    private func scans(of medium: any Medium) -> [SectorScan] {
        (0..<medium.geometry.sectorCount).map { SectorScan($0, of: medium) }
    }
}
