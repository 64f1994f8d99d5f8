import AgentModel
import Testing

@testable import Failover

@Suite struct LostByHourTests {
    private static func at(day: Int64, hour: Int64) -> Instant {
        Instant(milliseconds: (day * 24 + hour) * 3_600_000 + 1_800_000)
    }

    @Test func whatWasLostIsExpectedAtTheSameHourOfTheNextDay() {
        var memory = LostByHour()
        memory.lost(36, at: Self.at(day: 0, hour: 20))
        #expect(memory.expected(at: Self.at(day: 0, hour: 20)) == 0, "today's is known otherwise")
        #expect(memory.expected(at: Self.at(day: 1, hour: 20)) == 0.005)
        #expect(memory.expected(at: Self.at(day: 1, hour: 21)) == 0)
        #expect(memory.expected(at: Self.at(day: 2, hour: 20)) == 0.0025)
    }

    @Test func everyDayCounts() {
        var memory = LostByHour()
        for day in 0..<8 { memory.lost(36, at: Self.at(day: Int64(day), hour: 20)) }
        #expect((0.009...0.01).contains(memory.expected(at: Self.at(day: 8, hour: 20))))
        #expect(memory.expected(at: Self.at(day: 40, hour: 20)) < 1e-9)
    }

    /// Numbers that no clock and no count says.
    @Test(arguments: [0, -1, .infinity, .nan] as [Double]) func noLossIsNotTaken(seconds: Double) {
        var memory = LostByHour()
        memory.lost(seconds, at: Self.at(day: 0, hour: 1))
        #expect(memory == LostByHour())
        memory.lost(1, at: Instant(milliseconds: .min))
        memory.lost(1, at: Instant(milliseconds: .max))
        #expect(memory.expected(at: Instant(milliseconds: .max)) == 0)
    }
}
