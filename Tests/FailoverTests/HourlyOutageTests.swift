import AgentModel
import Testing

@testable import Failover

@Suite struct HourlyOutageTests {
    private static func at(day: Int64, hour: Int64) -> HourOfDay {
        HourOfDay(Instant(milliseconds: (day * 24 + hour) * 3_600_000 + 1_800_000), offset: 0)
    }

    @Test func whatWasLostIsExpectedAtTheSameHourOfTheNextDay() {
        var memory = HourlyOutage()
        memory.lost(36, in: Self.at(day: 0, hour: 20))
        #expect(memory.expected(in: Self.at(day: 0, hour: 20)) == 0, "today's is known otherwise")
        #expect(memory.expected(in: Self.at(day: 1, hour: 20)) == 0.005)
        #expect(memory.expected(in: Self.at(day: 1, hour: 21)) == 0)
        #expect(memory.expected(in: Self.at(day: 2, hour: 20)) == 0.0025)
    }

    @Test func everyDayCounts() {
        var memory = HourlyOutage()
        for day in 0..<8 { memory.lost(36, in: Self.at(day: Int64(day), hour: 20)) }
        #expect((0.009...0.01).contains(memory.expected(in: Self.at(day: 8, hour: 20))))
        #expect(memory.expected(in: Self.at(day: 40, hour: 20)) < 1e-9)
    }

    /// Numbers that no clock and no count says.
    @Test(arguments: [0, -1, .infinity, .nan] as [Double]) func noLossIsNotTaken(seconds: Double) {
        var memory = HourlyOutage()
        memory.lost(seconds, in: Self.at(day: 0, hour: 1))
        #expect(memory == HourlyOutage())
        memory.lost(1, in: HourOfDay(Instant(milliseconds: .min), offset: -1))
        memory.lost(1, in: HourOfDay(Instant(milliseconds: .max), offset: 1))
        #expect(memory.expected(in: HourOfDay(Instant(milliseconds: .max), offset: 0)) == 0)
    }

    @Test func hoursAreThoseOfTheWallClock() {
        let offset: Int64 = 20_783 * 86_400_000 + 20 * 3_600_000 + 1_800_000
        #expect(
            HourOfDay(Instant(milliseconds: 0), offset: offset) == HourOfDay(Instant(milliseconds: offset), offset: 0))
        let hour = HourOfDay(Instant(milliseconds: 1_800_000), offset: offset)
        #expect(hour.day == 20_783 && hour.hour == 21)
        let before = HourOfDay(Instant(milliseconds: -1), offset: 0)
        #expect(before.day == -1 && before.hour == 23)
    }

    // MARK: Over a restart

    @Test func whatWasLostIsExpectedAfterARestart() throws {
        var before = HourlyOutage()
        before.lost(36, in: Self.at(day: 3, hour: 20))
        before.lost(80, in: Self.at(day: 4, hour: 9))
        let kept = try #require(before.kept(on: 4))
        #expect(kept.seconds[20] == 18 && kept.seconds[9] == 80 && kept.seconds.reduce(0, +) == 98)
        var after = HourlyOutage()
        after.remember(kept)
        for (day, hour) in [(4, 20), (5, 20), (5, 9), (7, 9), (5, 10)] as [(Int64, Int64)] {
            let now = Self.at(day: day, hour: hour)
            #expect(after.expected(in: now) == before.expected(in: now), "day \(day), \(hour) h")
        }
        #expect(HourlyOutage().kept(on: 4) == nil)
        #expect(before.kept(on: -1) == nil && before.kept(on: .max) == nil)
    }

    @Test func whatTheDeviceSawItselfCountsMore() {
        var memory = HourlyOutage()
        memory.lost(36, in: Self.at(day: 3, hour: 20))
        memory.remember(StoredHourlyOutage(day: 3, seconds: Array(repeating: 3600, count: 24)))
        #expect(memory.expected(in: Self.at(day: 4, hour: 20)) == 0.005)
        #expect(memory.expected(in: Self.at(day: 4, hour: 21)) == 0.5)
    }

    /// A record may say anything.
    @Test(arguments: [
        StoredHourlyOutage(day: .max, seconds: [9]), StoredHourlyOutage(day: -1, seconds: [9]),
        StoredHourlyOutage(day: 1, seconds: []),
        StoredHourlyOutage(day: 1, seconds: [.min, .max, -1, 3601, 0]),
        StoredHourlyOutage(day: 1, seconds: Array(repeating: 0, count: 24) + [9]),
    ])
    func impossibleLossesAreNotTaken(losses: StoredHourlyOutage) {
        var memory = HourlyOutage()
        memory.remember(losses)
        #expect(memory == HourlyOutage())
    }
}
