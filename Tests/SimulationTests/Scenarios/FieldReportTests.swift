import AgentModel
import Testing

@testable import Simulation

/// Reports by people who keep devices online.
@Suite struct FieldReportTests {
    private func run(_ lines: String) throws -> RunResult {
        let scenario = try Scenario(parsing: Array(lines.utf8), name: "report", file: "report.scenario")
        return Simulation.run(scenario, seed: 1, recordsTimeline: true)
    }

    /// The link stays up, nothing gets through, and there is no other network. A new association may heal that.
    @Test func aLinkThatCarriesNothingIsMadeAgain() throws {
        let result = try run(
            """
            title A link that carries nothing, and no other network
            about The link stays up, nothing gets through, and there is no other network.
            duration 6h
            set validation on
            network Home password only-one-here preferred
            ap home Home channel 6 signal -50
            at 30m home internet dead
            """)
        // The first join, then after 4 minutes, and less and less often: hourly in the end.
        #expect((6...12).contains(result.joins))
        #expect((12...24).contains(result.recoverySteps))
        let second = try #require(result.timeline?.decisions.filter { $0.kind == .join }.dropFirst().first)
        let dead = Instant(milliseconds: 1_800_000)
        #expect((Duration.seconds(180)...Duration.seconds(240)).contains(second.at - dead))
    }

    /// The only network gives an address 16 s after each association.
    @Test func anAddressThatComesLateIsWaitedFor() throws {
        let result = try run(
            """
            title Slow DHCP
            about The only network gives an address 16 seconds after each association.
            duration 2h
            network Home password slow-relay-77 preferred
            ap home Home channel 6 signal -50 address 16s
            """)
        #expect(result.joins == 2 && result.outage < .seconds(40))
    }
}
