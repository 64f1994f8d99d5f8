import Randomness
import Testing

@testable import Simulation

/// Whatever a file holds, it is a scenario within its limits or an error: never a crash.
@Suite struct ScenarioFuzzTests {
    @Test func randomBytes() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            expectScenarioOrError(bytes)
        }
    }

    @Test func randomWords() {
        var random = SeededRandom(seed: 2)
        let words = Self.words
        var accepted = 0
        for _ in 0..<3000 {
            let lines = (0..<3).map { _ in
                (0..<Int.random(in: 1...9, using: &random)).compactMap { _ in words.randomElement(using: &random) }
                    .joined(separator: " ")
            }
            let head = "title T\nabout A\nduration 4h\nnetwork Home password made-up-word\n"
            accepted += expectScenarioOrError(Array((head + lines.joined(separator: "\n")).utf8)) ? 1 : 0
        }
        #expect(accepted < 3000)
    }

    @Test(arguments: ScenarioLibrary.names)
    func mutatedLibrary(name: String) throws {
        var random = SeededRandom(seed: 3)
        let original = try #require(ScenarioLibrary.files[name])
        for _ in 0..<60 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &random) { Self.mutate(&bytes, &random) }
            expectScenarioOrError(bytes)
        }
    }

    @discardableResult
    private func expectScenarioOrError(_ bytes: [UInt8]) -> Bool {
        do throws(ScenarioError) {
            let scenario = try Scenario(parsing: bytes, name: "fuzz", file: "fuzz.scenario")
            #expect(scenario.duration > .zero && scenario.duration <= ScenarioParser.longestDuration)
            #expect(scenario.happenings.count <= ScenarioParser.happeningLimit)
            #expect(scenario.happenings.allSatisfy { $0.at >= .zero && $0.at < scenario.duration })
            #expect(zip(scenario.happenings, scenario.happenings.dropFirst()).allSatisfy { $0.at <= $1.at })
            #expect(scenario.accessPoints.count <= ScenarioParser.accessPointLimit)
            return true
        } catch {
            let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
            #expect(error.line.map { (1...lines).contains($0) } ?? true)
            #expect(error.description.hasPrefix("fuzz.scenario:"))
            #expect(error.description.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            return false
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[place] = Array("0123456789-.,% \n\"\\#ms".utf8).randomElement(using: &random) ?? 0
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(UInt8.random(in: 0x20...0x7e, using: &random), at: place)
        case 4: bytes.removeSubrange(place..<min(place + 20, bytes.count))
        default:
            var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            lines.swapAt(
                Int.random(in: 0..<lines.count, using: &random), Int.random(in: 0..<lines.count, using: &random))
            bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
        }
    }

    /// Words of the format, and numbers at and past their bounds.
    private static let words =
        ScenarioParser.Statement.allCases.map(\.rawValue) + ScenarioParser.HappeningSubject.allCases.map(\.rawValue)
        + [
            "Home", "home", "home*", "*", "channel", "channels", "1", "6,11", "36", "signal", "-50", "to", "-110",
            "over",
        ]
        + [
            "0s", "1ms", "366d", "999999999d", "4h", "password", "open", "short", "long-enough", "\"\"", "\"\\x00\"",
            "\"",
        ]
        + [
            "power", "exponent", "3.2", "99999999999999999999", "-9223372036854775808", "0,0", "-1e9,nan", "from",
            "until",
        ]
        + [
            "on", "off", "full", "not", "moves", "loss", "30%", "2400-2483", "for", "confirm", "within", "dies", "#",
            "margin",
        ]
}
