import AgentModel
import Randomness
import Testing

@testable import KeyFile

@Suite struct RootKeyFormTests {
    private func decode(_ bytes: [UInt8]) throws(KeyFileError) -> Secret {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(KeyFileError) in
                try RootKeyForm.decode(bytes, source: "/etc/altnet/root-key")
            }
        }.get()
    }

    private func encode(_ key: [UInt8]) -> String {
        RootKeyForm.encode(Secret(key)).withBytes { String(decoding: $0, as: UTF8.self) }
    }

    private let key = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 200) }
    private let text = "c8ed12375c81a6cbf0153a5f84a9cef3183d6287acd1f61b40658aafd4f91e43"

    @Test func isSixtyFourDigitsAndALineFeed() throws {
        #expect(encode(key) == text + "\n")
        for form in [text + "\n", text, text.uppercased() + "\n"] {
            #expect(try decode(Array(form.utf8)) == Secret(key))
        }
    }

    @Test func takesThirtyTwoBytesAsTheyAre() throws {
        #expect(try decode(key) == Secret(key))
        let endsLikeALine = key.dropLast() + [0x0a]
        #expect(try decode(Array(endsLikeALine)) == Secret(endsLikeALine))
    }

    @Test(arguments: [
        ("", "neither"), ("\n", "neither"), (" ", "neither"),
        (String(repeating: "a1", count: 31) + "a", "neither"), (String(repeating: "a1", count: 33), "neither"),
        (String(repeating: "a1", count: 32) + "\r\n", "neither"),
        (String(repeating: "a1", count: 32) + "\n\n", "neither"),
        (String(repeating: "a1", count: 31) + "g1\n", "hexadecimal"),
        (String(repeating: "a1", count: 31) + " 1\n", "hexadecimal"),
        (String(repeating: "00", count: 32) + "\n", "zeros"), (String(repeating: "\0", count: 32), "zeros"),
        ("correct horse battery staple 2026", "neither"), ("0123456789abcdef0123456789abcdef", "text"),
        ("my own secret of thirty-two char", "text"), ("my own secret of thirty-one cha\n", "text"),
    ])
    func refusesWhatIsNoKey(content: String, problem: String) throws {
        do throws(KeyFileError) {
            _ = try decode(Array(content.utf8))
            Issue.record("took \(content)")
        } catch {
            guard case .invalidRootKey("/etc/altnet/root-key", let said) = error else { throw error }
            #expect(said.contains(problem))
        }
    }

    /// Whatever the bytes, it is a key that reads the same when it is written again, or a refusal that does not repeat them.
    @Test func anyBytes() throws {
        var random = SeededRandom(seed: 1)
        var keys = 0
        for _ in 0..<20_000 {
            let isNearlyRight = Bool.random(using: &random)
            var bytes = isNearlyRight ? Array((text + "\n").utf8) : []
            if isNearlyRight {
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                if random.next() % 4 == 0 { bytes.removeLast(Int.random(in: 0...33, using: &random)) }
            } else {
                let size = Int.random(in: 0...70, using: &random)
                bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            do throws(KeyFileError) {
                let key = try decode(bytes)
                keys += 1
                #expect(key.count == RootKeys.size)
                let again = RootKeyForm.encode(key).withBytes { Array($0) }
                #expect(try decode(again) == key)
            } catch {
                guard case .invalidRootKey = error else { throw error }
                #expect(bytes.count < 8 || !"\(error)".contains(String(decoding: bytes.prefix(8), as: UTF8.self)))
            }
        }
        #expect((2_000...18_000).contains(keys), "both happen often: \(keys)")
    }
}
