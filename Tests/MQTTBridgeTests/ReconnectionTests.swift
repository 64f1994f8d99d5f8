import AgentModel
import Testing

@testable import MQTTBridge

/// The herd after an outage, reckoned: 10,000 devices that lose one broker at the same moment, with the settings that they
/// have unless others are set.
@Suite struct ReconnectionTests {
    private static let devices = 10_000
    /// In seconds: over before the first round, within it, between the rounds, and long.
    private static let outages = [0.0, 1, 5, 10, 20, 25, 30, 40, 60, 75, 100, 300, 3600]

    /// When each device tries, in milliseconds since the broker was lost, until the broker is back.
    private func attempts(outage: Double, spread: Int = 25, longest: Int = 50) -> [[Int64]] {
        (0..<Self.devices).map { seed in
            var reconnection = Reconnection(
                spread: .seconds(spread), longest: .seconds(longest), seed: UInt64(seed) + 1)
            var attempts: [Int64] = []
            repeat {
                attempts.append((attempts.last ?? 0) + reconnection.wait(after: .unreachable).milliseconds)
            } while Double(attempts.last ?? 0) < outage * 1000
            return attempts
        }
    }

    private func most(_ attempts: [Int64]) -> Int {
        Dictionary(grouping: attempts) { $0 / 1000 }.values.map(\.count).max() ?? 0
    }

    @Test(arguments: outages) func noMoreThan500ComeInASecondAndAllAreBackInAMinute(outage: Double) {
        let attempts = attempts(outage: outage)
        #expect(most(attempts.flatMap(\.self)) <= 500)
        let last = Double(attempts.compactMap(\.last).max() ?? 0) / 1000
        #expect(last - outage <= 50)
    }

    /// A fleet of another size sets the spread alone.
    @Test func theRateFollowsFromTheSpread() {
        let attempts = attempts(outage: 600, spread: 100, longest: 50)
        #expect(most(attempts.flatMap(\.self)) <= 150, "100 and what chance adds")
    }

    /// The devices know from their agents that the network leads out again: those that wait begin a new wait together.
    @Test func whatIsToldToAllIsSpreadToo() {
        let attempts = (0..<Self.devices).map { seed -> [Int64] in
            var reconnection = Reconnection(spread: .seconds(25), longest: .seconds(50), seed: UInt64(seed) + 1)
            _ = reconnection.wait(after: .unreachable)
            let first = reconnection.waitAfterOutage().milliseconds
            return [first, first + reconnection.wait(after: .unreachable).milliseconds]
        }
        #expect(most(attempts.flatMap(\.self)) <= 500)
        #expect(attempts.allSatisfy { $0[0] <= 25_000 && $0[1] - $0[0] >= 25_000 })
    }
}
