import AgentModel
import Randomness
import Testing

@testable import Failover

@Suite struct RecordReaderTests {
    private func read(_ text: some Sequence<UInt8>) throws(RecordError) -> [RecordedRun] {
        try RecordReader.runs(in: Array(text), of: "record")
    }

    @Test func aRunIsReadAsItWasRecorded() throws {
        var settings = PolicySettings()
        settings.margin = 11
        settings.validation = PolicySettings.Validation()
        settings.validation?.retry = .milliseconds(1500)
        let (text, events) = Fixture.run(settings)
        let run = try #require(try read(text).first)
        #expect(run.agent == "1.2.3")
        #expect(run.settings == settings)
        #expect(run.steps.map(\.event) == events.map(\.1))
        #expect(run.steps.map(\.at) == events.map(\.0))
        let joins = run.steps.flatMap(\.actions).compactMap { action -> LinkTarget? in
            if case .join(let target) = action { target } else { nil }
        }
        #expect(joins.contains { $0.network == NetworkID(3) && $0.epoch == 2 })
        #expect(run.end == nil)
    }

    @Test func costsAreReadAsTheyWereRecorded() throws {
        let costs = PolicyDecision.Costs(here: 0.76, there: 1.0 / 600, staying: 0.8503610066666667, price: 2.0 / 3)
        let text = try OutsideJSON.encode(costs)
        #expect(try OutsideJSON.decode(PolicyDecision.Costs.self, from: text, nesting: 1) == costs)
        #expect((costs.here, costs.there, costs.staying, costs.price) == (2736, 6, 850, 667))
    }

    @Test func aSecondStartIsASecondRun() throws {
        let text = Fixture.run().text
        let runs = try read(text + [UInt8(ascii: "\n")] + text)
        #expect(runs.count == 2)
        #expect(runs[0].steps.map(\.event) == runs[1].steps.map(\.event))
    }

    /// Cut at any byte: what was written before is still there, and nothing else is.
    @Test func aPowerCutCostsTheLastLineAtMost() throws {
        let bytes = Fixture.run().text
        let whole = try #require(try read(bytes).first)
        let header = RecordLine.run(agent: "1.2.3", settings: PolicySettings()).text.count
        // Not every byte, for the header is long to read again.
        for length in Array(header..<header + 100) + stride(from: header + 100, to: bytes.count, by: 11) {
            // The next start begins a line of its own.
            for tail in [[], [UInt8(ascii: "\n")] + bytes] {
                let runs = try read(bytes[..<length] + tail)
                let run = try #require(runs.first)
                let written = bytes[header..<length].split(
                    separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                // A line whose feed alone is missing is whole.
                let isWhole = bytes[length] == UInt8(ascii: "\n") || written.last?.isEmpty == true
                #expect(run.steps == Array(whole.steps.prefix(run.steps.count)))
                #expect(run.steps.count == written.count(where: { !$0.isEmpty }) - (isWhole ? 0 : 1))
                #expect((run.end != nil) == !isWhole)
                #expect(runs.count == (tail.isEmpty ? 1 : 2))
                if let second = runs.dropFirst().first {
                    #expect(second.steps.map(\.event) == whole.steps.map(\.event))
                }
            }
        }
    }

    /// A power cut in the header of the first run.
    @Test func aRunWhoseBeginningWasCutIsLeftOut() throws {
        let bytes = Fixture.run().text
        #expect(
            try read(bytes[..<100] + [UInt8(ascii: "\n")] + bytes).map(\.steps.count) == [Fixture.run().events.count])
    }

    @Test func whatFollowsAGapIsNotTaken() throws {
        let text = Fixture.run().text
        let late = RecordLine.step(at: Instant(milliseconds: 99_999), event: .tick, actions: [.leave])
        let run = try #require(try read(text + RecordLine.gap(missed: 7).text + late.text).first)
        guard case .gap(_, missed: 7) = run.end else {
            Issue.record("no gap: \(run.end.debugDescription)")
            return
        }
        #expect(run.steps.last?.at == Instant(milliseconds: 60_000))
        #expect(try read(text + RecordLine.full.text).first?.end == .full)
    }

    private static let start = #"{"run":{"format":6,"agent":"x","settings":{}}}"#
    private static let tick = #"{"step":{"at":1,"event":{"tick":{}},"actions":[]}}"#

    @Test(arguments: [
        ([""], 1, "no run"), (["hello", "world"], 1, "valid JSON"),
        ([tick, tick], 1, "before the run"), ([start, "{}", tick], 2, "step, gap"),
        ([start, tick, "@2 0 tick", tick], 3, "valid JSON"),
        ([start, tick, "@2 0 tick", "@3 0 tick"], 3, "valid JSON"),
        ([start, "", tick + tick, "", tick], 3, "valid JSON"),
        ([start, #"{"full":{},"#, #"{"full":{}}"#], 2, "valid JSON"),
    ])
    func whatIsWrongIsNamedWithItsLine(lines: [String], line: Int, problem: String) {
        let error = #expect(throws: RecordError.self) { try read(lines.joined(separator: "\n").utf8) }
        guard case .malformed(line, let sentence)? = error?.reason else {
            Issue.record("\(error.debugDescription)")
            return
        }
        #expect(sentence.contains(problem))
        #expect(error?.description.hasPrefix("record:\(line): ") == true)
    }

    /// Formats 1 to 5 were words, and are read by the altnet-lab of their time.
    @Test func anOldRecordIsRefusedWithWhatToDo() {
        let error = #expect(throws: RecordError.self) {
            try read("altnet-record 5 0.1.0\n= margin 8\n@1 0 tick\n".utf8)
        }
        #expect(error?.reason == .unsupportedVersion(line: 1, "5", agent: "0.1.0"))
        let sentence = error?.description ?? ""
        #expect(sentence.hasPrefix("record:1: ") && sentence.hasSuffix(" 0.1.0") && sentence.contains("altnet-lab"))
        let later = #expect(throws: RecordError.self) {
            try read(("\(Self.start)\n" + Self.start.replacing(":6,", with: ":7,")).utf8)
        }
        #expect(later?.reason == .unsupportedVersion(line: 2, "7", agent: "x"))
    }

    /// Steps of the rule that an earlier agent had are skipped; the others keep their lines.
    @Test func aStepWithARetiredEventIsSkipped() throws {
        let steps = [
            #"{"step":{"actions":[],"at":1,"event":{"wallClock":{"offset":1767225600000}}}}"#,
            Self.tick,
            #"{"step":{"actions":[],"at":1,"event":{"lostByHour":{"losses":{"day":3,"seconds":[9]},"network":1}}}}"#,
            Self.tick,
        ]
        let run = try #require(try read(([Self.start] + steps).joined(separator: "\n").utf8).first)
        #expect(run.steps.map(\.line) == [3, 5] && run.steps.allSatisfy { $0.event == .tick })
        #expect(run.end == nil)
    }

    @Test func aLineHasALimit() {
        let tick = RecordLine.step(at: Instant(milliseconds: 70_001), event: .tick, actions: []).text
        let long = tick.dropLast() + String(repeating: " ", count: 600_000).utf8 + [UInt8(ascii: "\n")]
        let error = #expect(throws: RecordError.self) { try read(Fixture.run().text + long + tick) }
        #expect(error?.description.contains("longer than 524288 bytes") == true)
    }

    /// Any bytes are read or refused, and a record that is read can be replayed.
    @Test func noBytesBreakIt() throws {
        var random = SeededRandom(seed: 4)
        let sample = Fixture.run().text
        for _ in 0..<200 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(sample.randomElement(using: &random) ?? 0, at: index)
                default:
                    let other = Int.random(in: 0..<bytes.count, using: &random)
                    bytes.replaceSubrange(
                        index..<min(index + 20, bytes.count), with: bytes[other..<min(other + 40, bytes.count)])
                }
            }
            guard let runs = try? RecordReader.runs(in: bytes, of: "record") else { continue }
            for run in runs where run.settings.contradiction == nil {
                var replay = Replay(of: run, settings: run.settings)
                for step in run.steps { _ = replay.handle(step) }
            }
        }
    }
}
