import AgentModel
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// Stores that an altnet with version 2 of the format has written, and what an altnet of that version sees afterwards.
@Suite struct UpgradeTests {
    /// Bytes that the program of version 2 wrote: the example of its documentation.
    private static let formerExample =
        Hex.bytes(
            "414c544e45544b4600020000ada1ca7a0c04080000000001000000000000000155555555555555555555555555555555"
                + "89c08fdf0c4c6ecf6ab13b808069efb401000067000000000000000127f74cf42570266ff677b059aaed512294df64ea"
                + "8723101d170ffee4c44efe2b24cb770230a1244e3bb69344d40da660002ff7600030eda8096568a5070a4584c8cb26c4"
                + "e3984cb49d3b8a60cdd0c90dee10b7e1285b4b1233fcfc876584d3db2167bd6515a13e524743e7a2315288d3f2638f64"
                + "72dd72d423ca56b4aa64898b44224843712afd0223fb64ffffffffffffffffff0200001d0000000000000002aced86f5"
                + "4e3a65be319e21572a50ad4cb9dfcb726cc755890a9b66fb4ec0a67290365b169b97a00681c89c35b45e71315958291f"
                + "62a5a2c800b042c767b02b2747") ?? []

    @Test func readsWhatTheFormerProgramWrote() throws {
        let blank = Array(repeating: UInt8(0xff), count: Geometry.file.size - Self.formerExample.count)
        let disk = SimulatedDisk(files: [SimulatedDisk.storeName: Self.formerExample + blank])
        let log = try RecordLog(on: disk, roots: [Secret((0..<32).map { UInt8($0) })])
        #expect(log.report == [])
        let state = try #require(StoredState(cells: log.cells))
        #expect(state.home?.ssid == (try SSID("Home")))
        #expect(state.backups.map(\.ssid) == [try SSID("Garden")])
        #expect(state.current == state.home)
    }

    /// The hook that makes old stores for the other tests writes what the program of version 2 wrote.
    @Test func writesTheFormerFormAsItWas() throws {
        struct Pattern: RandomNumberGenerator {
            mutating func next() -> UInt64 { 0x5555_5555_5555_5555 }
        }
        let disk = SimulatedDisk(files: [:])
        let blank = Array(repeating: UInt8(0xff), count: Geometry.file.size - Self.formerExample.count)
        let roots = [Secret((0..<32).map { UInt8($0) })]
        let cells = try RecordLog(
            on: SimulatedDisk(files: [SimulatedDisk.storeName: Self.formerExample + blank]), roots: roots
        ).cells
        var first = cells
        first[CellID(.statistics)] = nil
        first[CellID(.roles)] = Secret([0, 0, 0, 0, 0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 1])
        let log = try RecordLog(
            medium: try disk.medium(), roots: roots, path: "/k", random: Pattern(), now: { 1_790_000_000 }, version: 2)
        try log.commit(first)
        try log.commit(cells)
        let bytes = try #require(disk.files[SimulatedDisk.storeName])
        #expect(Array(bytes.prefix(Self.formerExample.count)) == Self.formerExample)
    }

    private func formerBoard(
        _ storage: any SimulatedStorage, commits: Int = 150
    ) throws -> (SimulatedBoard, StoredState) {
        let board = SimulatedBoard(storage)
        board.version = 2
        let store = try board.open()
        var walk = StateWalk(seed: 70)
        for _ in 0..<commits { try store.commit(walk.next()) }
        board.version = RecordLog.currentVersion
        return (board, store.state)
    }

    private func versions(of medium: any Medium) -> [UInt16] {
        (0..<medium.geometry.sectorCount).compactMap { SectorScan($0, of: medium).header?.version }
    }

    /// Opening wears nothing and leaves the way back open; the first write goes to the next sector in turn, as a full
    /// sector would have had it, so the upgrade costs one sector at the most; and it is the last of the old form.
    @Test func theFirstWriteUpgradesAndOpeningDoesNot() throws {
        let flash = SimulatedFlash(try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)))
        let (board, state) = try formerBoard(flash)
        let bytes = flash.bytes
        let store = try board.open()
        #expect(store.report == [])
        #expect(store.state == state)
        try store.commit(state)
        #expect(flash.bytes == bytes)
        #expect(Set(versions(of: flash)) == [2])
        let erased = flash.eraseCounts.reduce(0, +)
        var new = state
        new.backupsRevision += 1
        try store.commit(new)
        #expect(flash.eraseCounts.reduce(0, +) == erased + 1)
        #expect(versions(of: flash).sorted() == [2, 2, 2, 3])
        // Sectors of both versions: the newest counts, and the older ones are in order.
        let reopened = try board.open()
        #expect(reopened.report == [])
        #expect(reopened.state == new)
        new.backupsRevision += 1
        try reopened.commit(new)
        #expect(flash.eraseCounts.reduce(0, +) == erased + 1)
        #expect(try board.open().state == new)
        let examined = try Examination(of: flash, roots: [try #require(try board.rootKey.load()).current], path: "/d")
        #expect(examined.verdict == .inOrder)
    }

    /// Each operation of the first write is cut in every way; the program of version 3 finds the old state or the new
    /// one. The one of version 2 finds the old state as long as that is the truth, and refuses the store from then on.
    @Test(arguments: [false, true]) func aCutAtEveryStepLeavesOneTruth(isFlash: Bool) throws {
        let geometry = try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16))
        let storage: any SimulatedStorage = isFlash ? SimulatedFlash(geometry) : SimulatedDisk()
        let (board, old) = try formerBoard(storage)
        let store = try board.open()
        var random = SeededRandom(seed: 71)
        var new = old
        new.backupsRevision += 1
        var copies: [SimulatedBoard] = []
        board.onOperation = {
            for _ in 0..<5 { copies += CutOutcome.allCases.map { board.afterPowerCut($0, using: &random) } }
        }
        try store.commit(new)
        board.onOperation = nil
        #expect(copies.count >= 100)
        var found: Set<UInt64> = []
        for copy in copies {
            let store = try copy.open()
            #expect([old, new].contains(store.state))
            #expect(store.report.allSatisfy { !$0.isSerious })
            found.insert(store.state.backupsRevision)
            let isUpgraded = try versions(of: copy.storage.medium()).contains(3)
            if store.state == new { #expect(isUpgraded) }
            var next = store.state
            next.backupsRevision += 1
            try store.commit(next)
            #expect(try copy.afterPowerCut(using: &random).open().state == next)
        }
        #expect(found.count == 2)
    }

    /// An earlier altnet stored losses by hour of the day. They are ignored, and the next change removes them.
    @Test func aRetiredKindGoesWithTheNextChange() throws {
        let (board, states) = try usedBoard(commits: 5)
        let roots = [try #require(try board.rootKey.load()).current]
        let log = try RecordLog(on: board.disk, roots: roots)
        let losses = Secret([4] + Array("Home".utf8) + [0x51, 0x2f] + Array(repeating: 9, count: 24))
        try log.commit(log.cells.merging([CellID(kind: 152): losses, CellID(kind: 152, index: 1): Secret([])]) { $1 })
        let store = try board.open()
        #expect(store.report == [] && store.state == states.last)
        var next = store.state
        next.backupsRevision += 1
        try store.commit(next)
        #expect(try RecordLog(on: board.disk, roots: roots).cells.keys.allSatisfy { $0.kind != 152 })
        let reopened = try board.open()
        #expect(reopened.report == [] && reopened.state == next)
    }

    /// The line that an altnet shows for a format of a later version, as that of version 2 does for this one.
    @Test func aLaterVersionIsRefusedInOneLine() throws {
        let (board, _) = try usedBoard(commits: 5)
        var bytes = board.store
        var prologue = Array("ALTNETKF".utf8) + [0, 4, 0, 0]
        let checksum = prologue.withUnsafeBytes { CRC32.checksum($0) }
        prologue += withUnsafeBytes(of: checksum.bigEndian) { Array($0) }
        bytes.replaceSubrange(4096..<4096 + 16, with: prologue)
        let newer = board.replacingStore(with: bytes)
        #expect(throws: KeyFileError.otherVersion(path: "/store/keyfile", version: 4)) { try newer.open() }
        #expect(newer.store == bytes)
        let sentence = "\(KeyFileError.otherVersion(path: "/k", version: 4))"
        #expect(["/k", "version 4", "to 3"].allSatisfy { sentence.contains($0) }, "\(sentence)")
    }

    /// A record of the new kind in a sector of version 2 is none.
    @Test func partsDoNotCountInTheFormerVersion() throws {
        var isRepaired = false
        for allowsParts in [false, true] {
            let mark = SectorHeader.Mark(checksum: 7, allowsParts: allowsParts)
            for header in [
                Record.Header(kind: .part, bodySize: 9, generation: 4),
                .init(kind: .snapshot, bodySize: 9, generation: 4, part: 1),
            ] {
                var bytes = header.bytes(in: mark)
                let read = bytes.withUnsafeMutableBytes { Record.Header($0, in: mark, isRepaired: &isRepaired) }
                #expect((read != nil) == allowsParts)
            }
        }
    }
}
