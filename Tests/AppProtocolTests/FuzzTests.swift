import AppProtocol
import Foundation
import Randomness
import Testing

/// Every input gives a value or a typed error, and neither crashes. Each lets other tests run in between.
@Suite struct FuzzTests {
    @Test func randomBytes() async {
        var random = SeededRandom(seed: 11)
        for round in 0..<Rounds.of(20_000) {
            if round.isMultiple(of: 100) { await Task.yield() }
            read((0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
    }

    @Test func mutatedMessages() async {
        var random = SeededRandom(seed: 12)
        let messages = (ProtocolDocument.requests + ProtocolDocument.answers + ProtocolDocument.events)
            .map { Array($0.utf8) }
        #expect(!messages.isEmpty)
        for round in 0..<Rounds.of(30_000) {
            if round.isMultiple(of: 100) { await Task.yield() }
            guard var line = messages.randomElement(using: &random) else { return }
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&line, &random) }
            read(line)
        }
    }

    /// Valid JSON of the wrong shape gets further into the decoders than broken JSON.
    @Test func messagesWithOtherValues() async {
        var random = SeededRandom(seed: 13)
        let values = [
            "null", "true", "0", "-1", "1e308", "9223372036854775808", "0.5", "\"\"", "\"x\"", "[]", "{}", "[[]]",
            "[null]", "\"\\u0000\"", "{\"ssid\":{}}", "[1,\"a\",{}]",
        ]
        let messages = ProtocolDocument.requests + ProtocolDocument.answers + ProtocolDocument.events
        for round in 0..<Rounds.of(20_000) {
            if round.isMultiple(of: 100) { await Task.yield() }
            guard let message = messages.randomElement(using: &random),
                let value = values.randomElement(using: &random)
            else { return }
            var parts = message.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            let index = Int.random(in: 1..<parts.count, using: &random)
            let end = parts[index].firstIndex { ",}]".contains($0) } ?? parts[index].endIndex
            parts[index].replaceSubrange(..<end, with: value)
            read(Array(parts.joined(separator: ":").utf8))
        }
    }

    /// Lines as long as they may be, of one thing over and over: none takes the decoder more than its share of stack or
    /// time.
    @Test(arguments: [
        "[", "{", "]", "[]", "{}", #"{"":"#, #"[{"":["#, "1", "9", "-", "1e", "0.", "\"", "\\", #"\""#, #"\u0000"#,
        #"\ud83d"#, "tru",
        "null,", "\u{0}", "\r", " ", "\u{feff}", "\u{301}", #"{"v":1,"id":"a","type":"network.get","body":"#,
        #"{"networks":["#, #"{"ssid":"a"},"#, #""v":1,"#,
    ])
    func oneThingOverAndOver(piece: String) async {
        let bytes = Array(piece.utf8)
        let prefixes = [
            "", "[", #"{"v":1,"id":"a","type":"backups.update","body":"#, #"{"v":1,"id":""#, #"{"v":1,"id":"a","#,
        ]
        for prefix in prefixes {
            let room = ProtocolLimits.lineLength - prefix.utf8.count
            read(Array(prefix.utf8) + Array(repeatElement(bytes, count: room / bytes.count).joined()))
            await Task.yield()
        }
    }

    /// Numbers at and over every edge, in every place of a number.
    @Test func numbersAtTheEdges() throws {
        let numbers = [
            "0", "-0", "-1", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
            "18446744073709551616", "1e18", "1e19", "1e308", "1e309", "-1e400", "0.1", "1.0", "1e-400", "00", "+1",
            "0x1",
            "NaN", "Infinity", "1" + String(repeating: "0", count: 5000),
            "0." + String(repeating: "0", count: 5000) + "1",
        ]
        for message in ProtocolDocument.requests + ProtocolDocument.answers + ProtocolDocument.events {
            for match in message.matches(of: /:(-?[0-9]+)[,}]/) {
                for number in numbers {
                    read(
                        Array(message.replacingCharacters(in: match.1.startIndex..<match.1.endIndex, with: number).utf8)
                    )
                }
            }
        }
    }

    private func mutate(_ line: inout [UInt8], _ random: inout SeededRandom) {
        guard !line.isEmpty else { return }
        let index = Int.random(in: line.indices, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: line[index] = UInt8.random(in: 0...255, using: &random)
        case 1: line.remove(at: index)
        case 2: line.insert(UInt8.random(in: 0...127, using: &random), at: index)
        case 3: line.removeSubrange(index...)
        default: line.insert(contentsOf: line[index...].prefix(Int.random(in: 0...40, using: &random)), at: index)
        }
    }

    private func read(_ line: [UInt8]) {
        if let request = try? Request(line: line), let written = try? request.line() {
            #expect((try? Request(line: written)) == request)
        }
        switch try? ServerLine(line: line) {
        case .answer:
            _ = try? ServerLine.body(NetworkStatus.self, of: line)
            _ = try? ServerLine.body(BackupList.self, of: line)
            _ = try? ServerLine.body(ScanResults.self, of: line)
            _ = try? ServerLine.body(History.self, of: line)
        case .event(let event): #expect(!event.line().isEmpty)
        case .unknown, nil: break
        }
    }
}
