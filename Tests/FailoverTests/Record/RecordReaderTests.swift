import AgentModel
import Randomness
import Testing

@testable import Failover

@Suite struct RecordReaderTests {
    private func read(_ text: String) throws(RecordError) -> [RecordedRun] {
        try RecordReader.runs(in: Array(text.utf8), of: "record")
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
        #expect(run.steps.contains { $0.actions.contains { $0.hasPrefix("join 3 2 ") } })
        #expect(run.end == nil)
    }

    /// A setting that an earlier version had and that means nothing any more.
    @Test func aRetiredSettingIsPassedOver() throws {
        let text =
            "altnet-record 3 0.1.0\n= provenAfter 60s\n= margin 9\n@1 0 settings margin=10 provenAfter=30s\n@2 0 tick\n"
        let run = try #require(try read(text).first)
        #expect(run.settings.margin == 9)
        var settings = PolicySettings()
        settings.margin = 10
        #expect(run.steps.map(\.event) == [.settings(settings), .tick])
    }

    /// Names of settings that the version before had.
    @Test func renamedSettingsAreReadByTheirOldNames() throws {
        let text =
            "altnet-record 4 0.1.0\n= look.first 3s\n= survey.last 2h\n= surveyDelay 7s\n@1 0 settings look.last=8s\n@2 0 tick\n"
        let run = try #require(try read(text).first)
        #expect(run.settings.scanInterval.known.first == .seconds(3))
        #expect(run.settings.scanInterval.unseen.last == .seconds(7200))
        #expect(run.settings.scanInterval.unseenDelay == .seconds(7))
        var settings = PolicySettings()
        settings.scanInterval.known.last = .seconds(8)
        #expect(run.steps.map(\.event) == [.settings(settings), .tick])
    }

    @Test func aSecondStartIsASecondRun() throws {
        let text = Fixture.run().text
        let runs = try read(text + "\n" + text)
        #expect(runs.count == 2)
        #expect(runs[0].steps.map(\.event) == runs[1].steps.map(\.event))
    }

    /// Cut at any byte: what was written before is still there, and nothing else is.
    @Test func aPowerCutCostsTheLastEntryAtMost() throws {
        let bytes = Array(Fixture.run().text.utf8)
        let whole = try #require(try RecordReader.runs(in: bytes, of: "record").first)
        let header = RecordFormat.header(agent: "1.2.3", PolicySettings()).utf8.count
        // Not every byte, for the header is long to read again.
        for length in Array(header..<header + 100) + stride(from: header + 100, to: bytes.count, by: 11) {
            let end = bytes[length - 1] == UInt8(ascii: "\n") ? "\n" : RecordFormat.cut + "\n"
            for tail in [[], Array(end.utf8) + bytes] {
                let runs = try RecordReader.runs(in: bytes[..<length] + tail, of: "record")
                let run = try #require(runs.first)
                let text = String(decoding: bytes[header..<length], as: UTF8.self)
                let begun = text.split(separator: "\n").count { $0.hasPrefix("@") }
                #expect(run.steps == Array(whole.steps.prefix(run.steps.count)))
                #expect(run.steps.count >= begun - 1)
                #expect(runs.count == (tail.isEmpty ? 1 : 2))
                if run.steps.count < begun { #expect(run.end != nil) }
                if let second = runs.dropFirst().first {
                    #expect(second.steps.map(\.event) == whole.steps.map(\.event))
                }
            }
        }
    }

    @Test func whatFollowsAGapIsNotTaken() throws {
        let text = Fixture.run().text
        let run = try #require(try read(text + RecordFormat.gap(7) + "@99999 1 tick\n> leave\n").first)
        guard case .gap(_, missed: 7) = run.end else {
            Issue.record("no gap: \(run.end.debugDescription)")
            return
        }
        #expect(run.steps.last?.at == Instant(milliseconds: 60_000))
        #expect(try read(text + RecordFormat.full).first?.end == .full)
    }

    @Test(arguments: [
        ("", 1, "altnet-record"), ("hello\nworld\n", 1, "altnet-record"),
        ("@1 0 tick\n@2 0 tick\n", 1, "altnet-record"),
        ("altnet-record 1\n@1 0 tick\n", 1, "the agent's version"),
        ("altnet-record 1 x\n= margin\n@1 0 tick\n", 2, "a setting's value"),
        ("altnet-record 1 x\n= marge 1\n@1 0 tick\n", 2, "a setting of the policy"),
        ("altnet-record 1 x\n= margin 1s\n@1 0 tick\n", 2, "decibels from 0 to 60"),
        ("altnet-record 1 x\n> leave\n@1 0 tick\n", 2, "an event before"),
        ("altnet-record 1 x\n@1 0 tick\n@-1 0 tick\n@2 0 tick\n", 3, "a time in milliseconds"),
        ("altnet-record 1 x\n@1 0 tick\n@9999999999999999999 0 tick\n@2 0 tick\n", 3, "a time in milliseconds"),
        ("altnet-record 1 x\n@1 0 tick\n@2 0 tock\n@2 0 tick\n", 3, "the name of an event"),
        ("altnet-record 1 x\n@1 0 tick\n= margin 8\n@2 0 tick\n", 3, "an event (@)"),
        ("altnet-record 1 x\n@1 1 tick\n@2 0 tick\n@3 0 tick\n", 3, "another action"),
        ("altnet-record 1 x\n@1 0 tick\n> leave\n@2 0 tick\n", 3, "no more actions"),
        ("altnet-record 1 x\n@1 0 tick\n# nonsense\n@2 0 tick\n", 3, "the note gap or full"),
    ])
    func whatIsWrongIsNamedWithItsLine(text: String, line: Int, expected: String) {
        let error = #expect(throws: RecordError.self) { try read(text) }
        guard case .malformed(line, let form)? = error?.reason else {
            Issue.record("\(error.debugDescription)")
            return
        }
        #expect(form.contains(expected))
        #expect(error?.description.hasPrefix("record:\(line): expected ") == true)
    }

    @Test func anotherVersionIsNotGuessedAt() {
        let error = #expect(throws: RecordError.self) { try read("altnet-record 6 x\n@1 0 tick\n") }
        #expect(error?.reason == .unsupportedVersion(line: 1, "6"))
    }

    @Test func recordsFromBeforeThereWereDoubtsAreRead() throws {
        let run = try #require(try read("altnet-record 1 x\n= validation.limit 3s\n@1 0 tick\n").first)
        #expect(run.settings.validation == PolicySettings.Validation())
        #expect(run.steps.map(\.event) == [.tick])
    }

    @Test func aLineHasALimit() {
        let text =
            Fixture.run().text + "@70000 0 scanned - " + String(repeating: "x", count: 300_000) + "\n@70001 0 tick\n"
        #expect(throws: RecordError.self) { try read(text) }
    }

    /// Any bytes are read or refused, and a record that is read can be replayed.
    @Test func noBytesBreakIt() throws {
        var random = SeededRandom(seed: 4)
        let sample = Array(Fixture.run().text.utf8)
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
