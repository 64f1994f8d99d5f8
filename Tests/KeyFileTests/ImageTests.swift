import AgentModel
import Randomness
import Testing

@testable import KeyFile

@Suite struct ImageTests {
    /// The check value that every description of CRC-32 gives.
    @Test func checksumIsTheWellKnownOne() {
        #expect(CRC32.checksum("123456789".utf8) == 0xcbf4_3926)
        #expect(CRC32.checksum([]) == 0)
    }

    /// The example in Docs/key-file.md is this program's format, byte by byte and both ways.
    @Test func readsAndWritesTheDocumentedExample() throws {
        let bytes = try documentedExample()
        let state = StoredState(
            home: try network("Home"), backups: [try network("Garden", password: nil, hidden: true)],
            backupsRevision: 2,
            pendingSwitch: PendingSwitch(
                id: "7f3c", target: try network("Garden", password: nil), cameFrom: try SSID("Home"))
        )
        #expect(try Image.decode(bytes) == Image(generation: 5, state: state))
        #expect(Image(generation: 5, state: state).bytes == bytes)
    }

    @Test func everyStateSurvivesARoundTrip() throws {
        var random = SeededRandom(seed: 1)
        for generation in 0..<1_000 as Range<UInt64> {
            let image = Image(generation: generation, state: try randomState(using: &random))
            #expect(try Image.decode(image.bytes) == image)
        }
    }

    @Test func theLargestStateFits() throws {
        let passphrase = String(repeating: "p", count: 63)
        func largest(_ mark: Int) throws -> StoredNetwork {
            try network(String(repeating: String(UnicodeScalar(UInt8(65 + mark))), count: 32), password: passphrase)
        }
        let state = StoredState(
            home: try largest(0), chosen: try largest(1), backups: try (0..<10).map(largest), backupsRevision: .max,
            pendingSwitch: PendingSwitch(
                id: String(repeating: "i", count: 64), target: try largest(2), cameFrom: try largest(3).ssid))
        let image = Image(generation: .max, state: state)
        #expect(image.bytes.count == 1830)
        #expect(try Image.decode(image.bytes) == image)
    }

    @Test func newerIsToldAlsoAcrossTheLastGeneration() {
        func image(_ generation: UInt64) -> Image { Image(generation: generation, state: StoredState()) }
        #expect(image(2).isNewer(than: image(1)))
        #expect(!image(1).isNewer(than: image(1)))
        #expect(!image(1).isNewer(than: image(2)))
        #expect(image(0).isNewer(than: image(.max)))
        #expect(!image(.max).isNewer(than: image(0)))
    }

    @Test func anyBytesAreReadOrRefused() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(throws: Damage.self) { try Image.decode(bytes) }
        }
    }

    /// Bodies of random bytes, and valid ones that were changed, under right checksums: so the checksum is no shelter for
    /// the decoder. What it accepts it also writes, to the byte.
    @Test func anyBodyIsReadOrRefused() throws {
        var random = SeededRandom(seed: 3)
        var accepted = 0
        for round in 0..<12_000 {
            var body: [UInt8]
            if round.isMultiple(of: 3) {
                body = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...9, using: &random) }
            } else {
                body = bodyOf(Image(generation: 1, state: try randomState(using: &random)))
                for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&body, using: &random) }
            }
            let bytes = sealed(body)
            guard let image = try? Image.decode(bytes) else { continue }
            accepted += 1
            #expect(image.bytes == bytes)
        }
        #expect(accepted > 500)
    }

    /// What is wrong is named: shortened, lengthened, an impossible value under a right checksum.
    @Test func damageIsNamed() throws {
        let bytes = Image(generation: 1, state: try fullState()).bytes
        let body = bodyOf(Image(generation: 1, state: try fullState()))
        for length in 0..<bytes.count {
            let expected: Damage = length < Image.prologueSize ? .notKeyFile : .wrongLength
            #expect(throws: expected) { try Image.decode(Array(bytes.prefix(length))) }
        }
        #expect(throws: Damage.wrongLength) { try Image.decode(bytes + [0]) }
        #expect(throws: Damage.impossibleContent) { try Image.decode(sealed(body + [0])) }
        #expect(throws: Damage.impossibleContent) { try Image.decode(sealed(Array(body.dropLast()))) }
        #expect(throws: Damage.impossibleContent) { try Image.decode(sealed([])) }
    }

    private func mutate(_ bytes: inout [UInt8], using random: inout SeededRandom) {
        let index = Int.random(in: 0..<max(bytes.count, 1), using: &random)
        guard index < bytes.count else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.remove(at: index)
        default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
        }
    }
}

func bodyOf(_ image: Image) -> [UInt8] { image.bytes.dropFirst(Image.headerSize).dropLast(Image.checksumSize) }

/// A file of this body with right length and checksums, written independently of the encoder.
func sealed(_ body: [UInt8], version: UInt16 = 1, generation: UInt64 = 1) -> [UInt8] {
    func bigEndian<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian, Array.init)
    }
    var prologue = Array("ALTNETKF".utf8) + bigEndian(version) + [0, 0]
    prologue += bigEndian(CRC32.checksum(prologue))
    let rest = bigEndian(generation) + bigEndian(UInt32(body.count)) + body
    return prologue + rest + bigEndian(CRC32.checksum(rest))
}
