import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// Files and chips that hold anything at all.
@Suite struct AnyBytesTests {
    @Test(arguments: [0, 1, 15, 16, 63, 64, 4095, 4096, 4097, 8192, 32_767, 32_768, 32_769, 40_000, 300_000])
    func startsWithAnyFileAndWorksOn(size: Int) throws {
        var random = SeededRandom(seed: UInt64(size))
        for round in 0..<8 {
            let bytes: [UInt8]
            switch round {
            case 0: bytes = Array(repeating: 0, count: size)
            case 1: bytes = Array(repeating: 0xff, count: size)
            default: bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            }
            let disk = SimulatedDisk(files: [SimulatedDisk.storeName: bytes])
            let board = SimulatedBoard(disk)
            let store = try board.open()
            #expect(store.state == StoredState())
            #expect(store.report.contains { $0.isSerious }, "\(size) bytes, round \(round): \(store.report)")
            try store.commit(try fullState())
            let kept = disk.files.filter { $0.key != "root-key" && $0.key != SimulatedDisk.storeName }
            #expect(kept.isEmpty || kept == [SimulatedDisk.storeName + ".damaged": bytes])
            let again = try board.open()
            #expect(again.state == (try fullState()))
            #expect(again.report == [])
            #expect(disk.openDescriptors <= 2)
        }
    }

    /// A file that was cut off, or extended, keeps what can be kept.
    @Test func takesWhatIsLeftOfATruncatedFile() throws {
        let (board, states) = try usedBoard(commits: 120)
        for size in stride(from: 0, through: board.store.count + 4_096, by: 1_021) {
            let extra = Array(repeating: UInt8(0xff), count: max(0, size - board.store.count))
            let truncated = board.replacingStore(with: Array(board.store.prefix(size)) + extra)
            let store = try truncated.open()
            #expect(states.contains(store.state))
            #expect(store.report.contains { $0.isSerious }, "\(size) bytes: \(store.report)")
            try store.commit(try fullState())
            let again = try truncated.open()
            #expect(again.state == (try fullState()))
            #expect(again.report == [], "\(size) bytes")
        }
    }

    /// The content of a chip that is no store is left alone.
    @Test func leavesForeignFlashAlone() throws {
        var random = SeededRandom(seed: 50)
        let geometry = try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16))
        let bytes = (0..<geometry.size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let flash = SimulatedFlash(geometry, bytes: bytes)
        let store = try SimulatedBoard(flash).open()
        #expect(store.state == StoredState())
        #expect(store.report == [.unreadable(keptAs: nil)])
        #expect(throws: KeyFileError.self) { try store.commit(try fullState()) }
        #expect(flash.bytes == bytes)
    }

    /// Valid files, changed and given right checksums again, so that the checksums are no shelter for what is behind
    /// them.
    @Test func noNumberIsBelievedForItsChecksum() throws {
        let (board, states) = try usedBoard(commits: 120)
        var random = SeededRandom(seed: 51)
        for round in 0..<250 {
            var bytes = board.store
            for _ in 0..<(1 + random.below(3)) { forge(&bytes, using: &random) }
            let forged = board.replacingStore(with: bytes)
            do throws(KeyFileError) {
                let store = try forged.open()
                #expect(store.state == StoredState() || states.contains(store.state), "round \(round)")
                var next = store.state
                next.backupsRevision += 1
                try store.commit(next)
                #expect(try forged.open().state == next, "round \(round)")
            } catch {
                switch error {
                case .wrongRootKey, .otherVersion: break
                default: throw error
                }
            }
        }
    }

    /// The highest numbers there are, under right checksums, in each sector: no sum of them overflows.
    @Test(arguments: 0..<Geometry.file.sectorCount) func noForgedNumberOverflows(sector: Int) throws {
        let (board, states) = try usedBoard(commits: 400)
        let (start, most) = (sector * Geometry.file.sectorSize, [UInt8](repeating: 0xff, count: 8))
        for numbers in [20..<24, 24..<32, 20..<32] {
            var bytes = board.store
            bytes.replaceSubrange(
                start + numbers.lowerBound..<start + numbers.upperBound, with: (most + most).prefix(numbers.count))
            correct(&bytes, start + 16..<start + SectorHeader.size - 4)
            let forged = board.replacingStore(with: bytes)
            let store = try forged.open()
            #expect(states.contains(store.state))
            for _ in 0..<60 {
                var next = store.state
                next.backupsRevision += 1
                try store.commit(next)
            }
            #expect(try forged.open().state == store.state)
        }
    }

    /// A forged record with the highest generation there is, complete but for its authentication.
    @Test func noForgedGenerationOverflows() throws {
        let (board, states) = try usedBoard(commits: 400)
        for sector in 0..<Geometry.file.sectorCount {
            var bytes = board.store
            let start = sector * Geometry.file.sectorSize
            let mark = mark(of: bytes, sector)
            let header = Record.Header(kind: .change, bodySize: 0, generation: .max)
            var record =
                header.bytes(in: SectorHeader.Mark(checksum: mark, allowsParts: true))
                + Array(repeating: 0, count: Record.overhead - Record.headerSize)
            correct(&record, 0..<record.count - 4)
            for place in stride(from: start + 64, to: start + 4_000, by: 1_008) {
                bytes.replaceSubrange(place..<place + record.count, with: record)
            }
            let forged = board.replacingStore(with: bytes)
            let store = try forged.open()
            #expect(store.state == StoredState() || states.contains(store.state))
            for _ in 0..<60 {
                var next = store.state
                next.backupsRevision += 1
                try store.commit(next)
            }
            #expect(try forged.open().state == store.state)
        }
    }

    /// Changes a field of a header, of a sector or of a record, and corrects its checksum.
    private func forge(_ bytes: inout [UInt8], using random: inout SeededRandom) {
        let sector = random.below(8)
        let start = sector * 4096
        let kind = random.below(3)
        let record = start + 64 + random.below(12) * 16
        let part = [start..<start + 12, start + 16..<start + SectorHeader.size - 4, record..<record + 12][kind]
        let field = part.lowerBound + random.below(part.count)
        let value: UInt8 = [0, 1, 0x7f, 0xff, UInt8(truncatingIfNeeded: random.next())][random.below(5)]
        for index in field..<min(field + [1, 2, 8][random.below(3)], part.upperBound) { bytes[index] = value }
        correct(&bytes, part, after: kind == 2 ? mark(of: bytes, sector) : 0)
    }

    /// The first bytes of the checksums of a sector's record headers.
    private func mark(of bytes: [UInt8], _ sector: Int) -> UInt32 {
        let start = sector * Geometry.file.sectorSize + SectorHeader.size - 4
        return bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Writes the right checksum behind a part.
    private func correct(_ bytes: inout [UInt8], _ part: Range<Int>, after mark: UInt32 = 0) {
        let sum = bytes[part].withUnsafeBytes { CRC32.checksum($0, after: mark) }
        withUnsafeBytes(of: sum.bigEndian) { bytes.replaceSubrange(part.upperBound..<part.upperBound + 4, with: $0) }
    }
}
