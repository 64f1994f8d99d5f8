import AgentModel
import Testing

@testable import Failover

@Suite struct ReplayTests {
    private func run(_ text: String) throws -> RecordedRun {
        try #require(try RecordReader.runs(in: Array(text.utf8), of: "record").first)
    }

    private func outcomes(_ run: RecordedRun, settings: PolicySettings? = nil) -> (all: [Replay.Outcome], Replay) {
        var replay = Replay(of: run, settings: settings ?? run.settings)
        return (run.steps.map { replay.handle($0) }, replay)
    }

    @Test func theSamePolicyDoesTheSame() throws {
        let (outcomes, replay) = outcomes(try run(Fixture.run().text))
        #expect(outcomes.allSatisfy { !$0.isDifferent })
        #expect(!replay.isHypothetical)
        #expect(replay.policy.phase.network == NetworkID(3))
    }

    /// Settings that were changed while it ran count in a replay as well, and not in one under settings of its own.
    @Test func changedSettingsAreReplayed() throws {
        var changed = PolicySettings()
        changed.margin = 12
        let text = Fixture.run().text + "@9000000 0 settings \(changed.recorded)\n"
        let (outcomes, replay) = outcomes(try run(text))
        #expect(outcomes.last?.isDifferent == false || outcomes.last?.step.actions.isEmpty == true)
        #expect(replay.policy.settings.margin == 12)
        var own = PolicySettings()
        own.margin = 20
        #expect(self.outcomes(try run(text), settings: own).1.policy.settings == own)
    }

    /// A hidden input would look like this: the same events, and something else is done.
    @Test func aDifferenceIsFoundWhereItIs() throws {
        let text = Fixture.run().text
        let lines = text.split(separator: "\n")
        let join = try #require(lines.firstIndex { $0.hasPrefix("> join") })
        var changed = lines
        changed[join] = "> join 1 1 - 2412"
        let (outcomes, replay) = outcomes(try run(changed.joined(separator: "\n") + "\n"))
        let different = outcomes.filter(\.isDifferent)
        #expect(different.first?.step.event == .linkLost())
        #expect(different.first?.step.actions.contains("join 1 1 - 2412") == true)
        #expect(different.first?.actions.contains(String(lines[join].dropFirst(2))) == true)
        #expect(replay.isHypothetical)
        // The recorded answers were those of another join, so this policy never heard of them.
        #expect(replay.policy.phase.network != NetworkID(3) || replay.policy.phase.accessPoint == nil)
    }

    @Test func anAnswerIsMatchedToTheOrderThatItFits() throws {
        // The recorded policy numbered its joins otherwise.
        let text = Fixture.run().text.split(separator: "\n").map { line in
            for beginning in ["> join 3 ", "@4300 "] where line.hasPrefix(beginning) {
                return line.split(separator: " ").map { $0 == "2" ? "17" : String($0) }.joined(separator: " ")
            }
            return String(line)
        }
        let (_, replay) = outcomes(try run(text.joined(separator: "\n") + "\n"))
        #expect(replay.isHypothetical)
        guard case .online(let link) = replay.policy.phase else {
            Issue.record("not online: \(replay.policy.phase)")
            return
        }
        #expect(link.network == NetworkID(3))
    }

    /// If this policy wants to be woken and the recorded one did not, it is.
    @Test func otherSettingsAreWokenInTime() throws {
        let run = try run(Fixture.run().text)
        var settings = run.settings
        settings.scanInterval.unseenDelay = .milliseconds(20)
        settings.scanInterval.unseen = BackOff(first: .seconds(5), last: .seconds(5))
        let (outcomes, replay) = outcomes(run, settings: settings)
        #expect(replay.isHypothetical)
        #expect(outcomes.contains { $0.isDifferent })
    }
}
