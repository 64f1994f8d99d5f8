import AgentModel
import Glibc
import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

@Suite struct FileAnchorTests {
    private let key = AnchorKey(root: Secret(0..<32))
    private let otherKey = AnchorKey(root: Secret(1..<33))

    /// The file after two advances: the first slot holds the position 1, the second the position 2.
    private func twoSlots() throws -> [UInt8] {
        let disk = SimulatedDisk()
        let anchor = FileAnchor(name: "anchor", files: disk)
        for generation in 1...2 as ClosedRange<UInt64> { try anchor.advance(to: position(generation), key) }
        return try #require(disk.files["anchor"])
    }

    /// The generation that an anchor with this content says, or nil if it says that it is damaged.
    private func generation(in file: [UInt8], _ keys: [AnchorKey]? = nil) throws -> UInt64? {
        do throws(KeyFileError) {
            let disk = SimulatedDisk(files: ["anchor": file])
            let found = try FileAnchor(name: "anchor", files: disk).read(keys ?? [key])
            #expect(disk.openDescriptors == 0)
            let generation = found?.generation ?? 0
            #expect(found == position(generation), "the tag belongs to the generation")
            return generation
        } catch {
            guard error == .anchorDamaged(path: "/store/anchor") else { throw error }
            return nil
        }
    }

    @Test func keepsTheLastPositionAcrossOpenings() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/flash/anchor"
            #expect(try FileAnchor(path: path).read([key]) == nil)
            for generation in 1...5 as ClosedRange<UInt64> {
                let anchor = try FileAnchor(path: path)
                #expect(try anchor.read([key])?.generation ?? 0 == 2 * generation - 2)
                try anchor.advance(to: position(2 * generation - 1), key)
                try anchor.advance(to: position(2 * generation), key)
                #expect(try anchor.read([key]) == position(2 * generation))
                #expect(try contents(of: path).count == 8192)
            }
            // Also without asking first.
            try FileAnchor(path: path).advance(to: position(11), key)
            #expect(try FileAnchor(path: path).read([key]) == position(11))
            #expect(mode(path) == 0o600)
            #expect(names(in: "\(scratch)/flash") == ["anchor"])
        }
    }

    /// Docs/reference/key-file-format.md has the same bytes. Another implementation of RFC 5869 and RFC 2104 computed the
    /// code.
    @Test func hasTheDocumentedLayout() throws {
        let disk = SimulatedDisk()
        let position = StorePosition(generation: 258, tag: Array(0xa0...0xaf))
        try FileAnchor(name: "anchor", files: disk).advance(to: position, key)
        let file = try #require(disk.files["anchor"])
        #expect(file.count == 8192)
        let slot =
            "414c544e45545241" + "0001" + "000000000000" + "0000000000000001" + "0000000000000102"
            + "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf" + "3d918eb0da39744c5ce2374f2813a4acf589a9297cccaa53b06c66f10ba699dc"
        #expect(Hex.string(file.prefix(80)) == slot)
        #expect(file.dropFirst(80).allSatisfy { $0 == 0 })
    }

    @Test func aStoreThatBeginsAnewIsFollowedToo() throws {
        let disk = SimulatedDisk()
        let anchor = FileAnchor(name: "anchor", files: disk)
        for generation in [7, 8, 1, 2, 2] as [UInt64] {
            try anchor.advance(to: position(generation), key)
            #expect(try FileAnchor(name: "anchor", files: disk).read([key]) == position(generation))
        }
    }

    @Test func followsAChangeOfTheRootKey() throws {
        let disk = SimulatedDisk()
        try FileAnchor(name: "anchor", files: disk).advance(to: position(1), key)
        let anchor = FileAnchor(name: "anchor", files: disk)
        #expect(try anchor.read([otherKey, key]) == position(1))
        try anchor.advance(to: position(2), otherKey)
        #expect(try FileAnchor(name: "anchor", files: disk).read([otherKey]) == position(2))
        #expect(try FileAnchor(name: "anchor", files: disk).read([key, otherKey]) == position(2))
    }

    @Test func aFileThatIsNotItsOwnIsLeftAlone() throws {
        for file in [Array("# settings\n".utf8), [], Array(repeating: 0, count: 8192), try twoSlots()] {
            let disk = SimulatedDisk(files: ["anchor": file])
            let anchor = FileAnchor(name: "anchor", files: disk)
            #expect(throws: KeyFileError.anchorDamaged(path: "/store/anchor")) { try anchor.read([otherKey]) }
            #expect(throws: KeyFileError.anchorDamaged(path: "/store/anchor")) {
                try anchor.advance(to: position(3), otherKey)
            }
            #expect(disk.files == ["anchor": file])
            #expect(disk.openDescriptors == 0)
        }
    }

    @Test func refusesWhatIsNoFile() throws {
        #expect(throws: KeyFileError.invalidPath("/")) { try FileAnchor(path: "/") }
        try withScratchDirectory { scratch in
            #expect(mkdir("\(scratch)/directory", 0o700) == 0)
            #expect(throws: KeyFileError.notRegularFile(path: "\(scratch)/directory")) {
                try FileAnchor(path: "\(scratch)/directory").read([key])
            }
            #expect(symlink("directory", "\(scratch)/link") == 0)
            #expect(throws: KeyFileError.system(.open, path: "\(scratch)/link", errno: ELOOP)) {
                try FileAnchor(path: "\(scratch)/link").advance(to: position(1), key)
            }
        }
    }

    // MARK: Damage

    @Test func everySingleBitFlipFallsBackToTheOtherSlot() throws {
        let file = try twoSlots()
        for slot in 0..<2 {
            for bit in 0..<(8 * 80) {
                var damaged = file
                damaged[4096 * slot + bit / 8] ^= 1 << (bit % 8)
                #expect(try generation(in: damaged) == (slot == 0 ? 2 : 1))
            }
        }
    }

    /// The effect of a disk with sectors of 4096 bytes on the whole sector in which a write is cut short.
    @Test func losingAWholeSectorFallsBackToTheOtherSlot() throws {
        let file = try twoSlots()
        var random = SeededRandom(seed: 2)
        for sectorSize in [512, 4096] {
            for start in stride(from: 0, to: 8192, by: sectorSize) {
                var damaged = file
                for index in start..<(start + sectorSize) { damaged[index] = UInt8.random(in: 0...255, using: &random) }
                #expect(try generation(in: damaged) == (start == 4096 ? 1 : 2))
            }
        }
    }

    @Test func everyTruncation() throws {
        let file = try twoSlots()
        for count in (0...200).map({ $0 }) + (4000...4300).map({ $0 }) + [8191, 8192] {
            let expected: UInt64? = count < 80 ? nil : count < 4096 + 80 ? 1 : 2
            #expect(try generation(in: Array(file.prefix(count))) == expected)
        }
        #expect(try generation(in: file + file) == 2)
    }

    /// A truncated anchor grows again.
    @Test func goesOnInATruncatedFile() throws {
        let disk = SimulatedDisk(files: ["anchor": Array(try twoSlots().prefix(100))])
        let anchor = FileAnchor(name: "anchor", files: disk)
        #expect(try anchor.read([key]) == position(1))
        for generation in 5...7 as ClosedRange<UInt64> { try anchor.advance(to: position(generation), key) }
        #expect(try FileAnchor(name: "anchor", files: disk).read([key]) == position(7))
    }

    @Test func anyBytes() throws {
        let file = try twoSlots()
        var random = SeededRandom(seed: 3)
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }
        for _ in 0..<200 {
            #expect(try generation(in: bytes(Int.random(in: 0...9000, using: &random))) == nil)
        }
        var seen: [UInt64?: Int] = [:]
        for _ in 0..<2_000 {
            var damaged = file
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let slot = 4096 * Int.random(in: 0...1, using: &random)
                let start = slot + Int.random(in: 0..<80, using: &random)
                let piece =
                    Bool.random(using: &random)
                    ? bytes(Int.random(in: 1...16, using: &random))
                    : Array(file[4096 - slot + start % 4096..<4096 - slot + 80])
                damaged.replaceSubrange(start..<start + piece.count, with: piece)
            }
            seen[try generation(in: damaged), default: 0] += 1
        }
        #expect(Set(seen.keys) == [nil, 1, 2])
    }
}

/// A position whose tag follows from its generation.
func position(_ generation: UInt64) -> StorePosition {
    StorePosition(generation: generation, tag: (0..<16).map { UInt8(truncatingIfNeeded: generation &* 31 &+ $0) })
}
