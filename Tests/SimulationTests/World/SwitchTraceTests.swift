import AgentModel
import Testing

@testable import Failover
@testable import Simulation

@Suite struct SwitchTraceTests {
    @Test func showsASimulatedSwitchInOrder() throws {
        let rows = SwitchTrace(try ScenarioLibrary.scenario(named: "commanded-trial"), seed: 1).rows
        #expect(rows.first.map { "\($0.who) \($0.text)" } == "app request switchNetwork stored")
        #expect(rows.count <= 40 && rows.map(\.milliseconds) == rows.map(\.milliseconds).sorted())
        var rest = rows.map { "\($0.who) \($0.text)" }[...]
        for row in [
            "core commit accepted", "disk committed", "core answer success switchStatus", "app answerSent",
            "core scan policy", "core signOff", "core join", "core seekAddress", "app request confirmSwitch",
            "core commit outcome", "disk committed", "core publish committed",
        ] {
            let index = try #require(rest.firstIndex(of: row), "\(row)")
            rest = rest[(index + 1)...]
        }
    }

    @Test func showsThePolicysPartOfARecording() {
        var run = RecordedRun(agent: "1", settings: PolicySettings())
        let target = NetworkID(rawValue: 2)
        let steps: [(PolicyEvent, [PolicyAction])] = [
            (.tick, [.leave]), (.switchTo(target, id: 1), [.cancelScan, .leave]), (.tick, []),
            (.confirmed(id: 1), [.store(.switchEnded(id: 1, isCommitted: true))]), (.tick, [.leave]),
        ]
        for (line, step) in steps.enumerated() {
            run.steps.append(
                RecordedRun.Step(
                    line: line, at: Instant(milliseconds: Int64(line)), event: step.0, actions: step.1))
        }
        #expect(
            SwitchTrace([run]).rows.map { "\($0.milliseconds) \($0.text)" } == [
                "1 switchTo: cancelScan, leave", "3 confirmed: store switchEnded",
            ])
        #expect(SwitchTrace([]).rows.isEmpty)
    }
}
