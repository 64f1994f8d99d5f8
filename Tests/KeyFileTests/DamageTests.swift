import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// Files changed by time or by an attacker.
@Suite struct DamageTests {
    private let sectorSize = Geometry.file.sectorSize

    /// A part of all bits, here; `altnet-lab torture` flips every one. A single wrong bit is always put right.
    @Test func noticesFlippedBits() throws {
        let flips = try BitFlips(seed: 32)
        let totals = try flips.flip(stride(from: 0, to: flips.bits.count, by: 521))
        print("key file: \(totals.corrected) flipped bits corrected, \(totals.unused) that hold nothing")
        #expect(totals.fellBack == 0)
        #expect(totals.corrected > totals.unused)
    }

    /// For any damage, an older state is never taken without a word: with an anchor even if nothing is left of the
    /// newer one.
    @Test func survivesAnyDamage() throws {
        let (board, states) = try usedBoard(commits: 400, isAnchored: true)
        var random = SeededRandom(seed: 30)
        for round in 0..<300 {
            var bytes = board.store
            for _ in 0..<Int.random(in: 1...8, using: &random) { damage(&bytes, using: &random) }
            let store = try board.replacingStore(with: bytes).open()
            #expect(store.state == StoredState() || states.contains(store.state), "round \(round)")
            #expect(store.state == states.last || store.report.contains { $0.isSerious }, "round \(round)")
            var next = store.state
            next.backupsRevision += 1
            try store.commit(next)
        }
    }

    private func damage(_ bytes: inout [UInt8], using random: inout SeededRandom) {
        let start = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 1...300, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[start] ^= UInt8.random(in: 1...255, using: &random)
        case 1: for index in start..<end { bytes[index] = UInt8.random(in: 0...255, using: &random) }
        case 2: for index in start..<end { bytes[index] = 0xff }
        case 3: for index in start..<end { bytes[index] = 0 }
        case 4:
            let sector = start / sectorSize * sectorSize
            for index in sector..<(sector + sectorSize) { bytes[index] = 0xff }
        default:
            let other = Int.random(in: 0..<(bytes.count - (end - start)), using: &random)
            bytes.replaceSubrange(start..<end, with: Array(bytes[other..<(other + end - start)]))
        }
    }

    /// Sectors that have changed places, or that stand in each other's place, give the newest state or are noticed.
    @Test func noticesMovedSectors() throws {
        let (board, states) = try usedBoard(commits: 400)
        let sectors = Geometry.file.sectorCount
        for one in 0..<sectors {
            for other in 0..<sectors where other != one {
                for isSwap in [true, false] {
                    var bytes = board.store
                    let (first, second) = (sector(one, of: bytes), sector(other, of: bytes))
                    bytes.replaceSubrange(one * sectorSize..<(one + 1) * sectorSize, with: second)
                    if isSwap { bytes.replaceSubrange(other * sectorSize..<(other + 1) * sectorSize, with: first) }
                    let store = try board.replacingStore(with: bytes).open()
                    #expect(!store.report.isEmpty, "\(one) and \(other)")
                    #expect(states.contains(store.state))
                    if store.state != states.last { #expect(store.report.contains { $0.isSerious }) }
                }
            }
        }
    }

    private func sector(_ index: Int, of bytes: [UInt8]) -> [UInt8] {
        Array(bytes[index * sectorSize..<(index + 1) * sectorSize])
    }

    /// The range of each record of the newest sector in the file.
    private func records(of bytes: [UInt8]) throws -> [Range<Int>] {
        let disk = SimulatedDisk(files: [SimulatedDisk.storeName: bytes])
        let medium = try disk.medium()
        let scans = (0..<medium.geometry.sectorCount).map { SectorScan($0, of: medium) }
        let newest = try #require(scans.max { ($0.header?.sequence ?? 0) < ($1.header?.sequence ?? 0) })
        let mark = try #require(newest.header).mark
        let start = medium.geometry.start(of: newest.index)
        var reader = SectorRecordReader(medium, sector: newest.index, mark: mark)
        var ranges: [Range<Int>] = []
        while let record = try reader.next() { ranges.append(start + record.offset..<start + reader.offset) }
        return ranges
    }

    /// Records that were exchanged, written twice or taken out do not pass for what was committed.
    @Test func noticesMovedRecords() throws {
        let (board, states) = try usedBoard(commits: 404)
        let bytes = board.store
        let ranges = try records(of: bytes)
        #expect(ranges.count >= 3, "the newest sector holds some changes")
        for one in ranges.indices {
            for other in ranges.indices where other != one {
                var moved = bytes
                let all = Array(bytes[ranges[other]])
                moved.replaceSubrange(ranges[one].lowerBound..<ranges[one].lowerBound + all.count, with: all)
                let store = try board.replacingStore(with: moved).open()
                #expect(states.contains(store.state))
                #expect(!store.report.isEmpty, "record \(other) in the place of \(one)")
            }
        }
        // Erased, with others behind it.
        for erased in ranges.dropLast() {
            var bytes = bytes
            for index in erased { bytes[index] = 0xff }
            let store = try board.replacingStore(with: bytes).open()
            #expect(states.contains(store.state))
            #expect(store.report.contains { $0.isSerious }, "\(store.report)")
        }
        // Taken out, with those behind it moved up.
        for taken in ranges.indices {
            var moved = Array(bytes[..<ranges[taken].lowerBound])
            let end = (ranges[taken].lowerBound / sectorSize + 1) * sectorSize
            moved += bytes[ranges[taken].upperBound..<end]
            moved += Array(repeating: 0xff, count: end - moved.count)
            moved += bytes[end...]
            let store = try board.replacingStore(with: moved).open()
            #expect(states.contains(store.state))
            let isLast = taken == ranges.indices.last
            if !isLast { #expect(store.report.contains { $0.isSerious }, "record \(taken)") }
        }
    }

    /// With an anchor, an older image and erased newest records are noticed, whatever they are; and what is stored
    /// afterwards counts.
    @Test func anAnchorNoticesWhatIsOlder() throws {
        let (old, states) = try usedBoard(commits: 400, isAnchored: true)
        let image = old.store
        var random = SeededRandom(seed: 31)
        let board = old.afterPowerCut(using: &random)
        let store = try board.open()
        var state = store.state
        for _ in 0..<30 {
            state.backupsRevision += 1
            try store.commit(state)
        }
        let rolledBack = board.replacingStore(with: image)
        let again = try rolledBack.open()
        #expect(again.state == states.last)
        #expect(again.report.contains { if case .rolledBack = $0 { true } else { false } }, "\(again.report)")
        state.backupsRevision += 1
        try again.commit(state)
        let last = try rolledBack.open()
        #expect(last.state == state)
        #expect(last.report == [])
        // The newest record alone is erased.
        var bytes = board.store
        let newest = try #require(try records(of: bytes).last)
        for index in newest { bytes[index] = 0xff }
        let erased = try board.replacingStore(with: bytes).open()
        #expect(erased.report.contains { $0.isSerious }, "\(erased.report)")
        // The file is gone altogether.
        #expect(try board.replacingStore(with: nil).open().report.contains { $0.isSerious })
        #expect(try board.replacingStore(with: Array(repeating: 0xff, count: 32_768)).open().report.contains(.erased))
    }

    @Test func noticesAnErasedFileWithoutAnAnchor() throws {
        let (board, _) = try usedBoard(commits: 5)
        let store = try board.replacingStore(with: Array(repeating: 0xff, count: 32_768)).open()
        #expect(store.state == StoredState())
        #expect(store.report.contains(.erased))
        try store.commit(try fullState())
    }

    /// A header that says something else of the whole file than the others and the file's size does not count.
    @Test func oneHeaderOfAnotherFormDoesNotDecide() throws {
        let (board, states) = try usedBoard(commits: 100)
        let form = try #require(Geometry(sectorSize: 8192, sectorCount: 64, writeUnit: 16))
        let header = SectorHeader(
            geometry: form, index: 0, eraseCount: 1, sequence: 1,
            salt: Array(repeating: 1, count: SectorHeader.saltSize),
            keyCheck: 1, begun: 0)
        var bytes = board.store
        bytes.replaceSubrange(0..<SectorHeader.size, with: header.bytes)
        let store = try board.replacingStore(with: bytes).open()
        #expect(states.contains(store.state))
        #expect(store.state != StoredState())
        #expect(!store.report.isEmpty)
    }
}
