import AgentModel
import Testing

@testable import Failover

@Suite struct ReplayTests {
    private func run(_ text: [UInt8]) throws -> RecordedRun {
        try #require(try RecordReader.runs(in: text, of: "record").first)
    }

    /// The same run with other lines.
    private func run(_ text: [UInt8], changing change: (inout RecordLine) -> Void) throws -> RecordedRun {
        try run(
            text.split(separator: UInt8(ascii: "\n")).flatMap { text in
                var line = try RecordLine(text)
                change(&line)
                return line.text
            })
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
        let change = RecordLine.step(at: Instant(milliseconds: 9_000_000), event: .settings(changed), actions: [])
        let text = Fixture.run().text + change.text
        let (outcomes, replay) = outcomes(try run(text))
        #expect(outcomes.last?.isDifferent == false || outcomes.last?.step.actions.isEmpty == true)
        #expect(replay.policy.settings.margin == 12)
        var own = PolicySettings()
        own.margin = 20
        #expect(self.outcomes(try run(text), settings: own).1.policy.settings == own)
    }

    /// A hidden input would look like this: the same events, and something else is done.
    @Test func aDifferenceIsFoundWhereItIs() throws {
        let other = LinkTarget(
            network: NetworkID(1), bssid: nil, frequencies: [Frequency(megahertz: 2412)], offer: nil, epoch: 1)
        var own: PolicyAction?
        let run = try run(Fixture.run().text) { line in
            guard case .step(let at, let event, var actions) = line,
                let join = actions.firstIndex(where: { if case .join = $0 { true } else { false } })
            else { return }
            own = actions[join]
            actions[join] = .join(other)
            line = .step(at: at, event: event, actions: actions)
        }
        let (outcomes, replay) = outcomes(run)
        let different = outcomes.filter(\.isDifferent)
        #expect(different.first?.step.event == .linkLost())
        #expect(different.first?.step.actions.contains(.join(other)) == true)
        #expect(different.first?.actions.contains(try #require(own)) == true)
        #expect(replay.isHypothetical)
        // The recorded answers were those of another join, so this policy never heard of them.
        #expect(replay.policy.phase.network != NetworkID(3) || replay.policy.phase.accessPoint == nil)
    }

    @Test func anAnswerIsMatchedToTheOrderThatItFits() throws {
        // The recorded policy numbered its joins otherwise.
        let run = try run(Fixture.run().text) { line in
            guard case .step(let at, let event, let actions) = line else { return }
            var other = event
            if case .associated(_, let accessPoint) = event { other = .associated(epoch: 17, accessPoint) }
            line = .step(
                at: at, event: other,
                actions: actions.map { action in
                    guard case .join(let target) = action, target.network == NetworkID(3) else { return action }
                    return .join(
                        LinkTarget(
                            network: target.network, bssid: target.bssid, frequencies: target.frequencies,
                            offer: target.offer, epoch: 17))
                })
        }
        let (_, replay) = outcomes(run)
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
