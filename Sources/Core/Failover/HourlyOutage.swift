import AgentModel

/// An hour of a day: by the wall clock where that was told (UTC), else counted from the device's start.
struct HourOfDay: Sendable, Hashable {
    /// Since 1970.
    let day: Int64
    /// From 0 to 23.
    let hour: Int

    static let length: Int64 = 3_600_000
    static let seconds = 3600

    /// - Parameter offset: the wall clock's time when the device's own clock was 0, in milliseconds since 1970.
    init(_ now: Instant, offset: Int64) {
        let (sum, isTooLong) = now.milliseconds.addingReportingOverflow(offset)
        let moment = isTooLong ? now.milliseconds : sum
        let hours = moment / Self.length - (moment % Self.length < 0 ? 1 : 0)
        let rest = hours % 24
        hour = Int(rest < 0 ? rest + 24 : rest)
        day = hours / 24 - (rest < 0 ? 1 : 0)
    }
}

/// Losses of a network by hour of the day, as they are kept over a restart.
public struct StoredHourlyOutage: Sendable, Hashable, Codable {
    /// Since 1970, UTC.
    public let day: Int64
    /// By hour of the day, UTC: what is expected to be lost in it on `day`, in seconds.
    public let seconds: [Int]

    public init(day: Int64, seconds: [Int]) { (self.day, self.seconds) = (day, seconds) }
}

/// How much was lost in a network at each hour of the day, on the days before: what is jammed or overloaded every evening is no place to go
/// back to in the evening.
///
/// Each day without a loss halves what is remembered.
struct HourlyOutage: Sendable, Hashable {
    private var hours: [Int: Entry] = [:]

    private struct Entry: Hashable {
        var day: Int64
        /// In seconds of outage: on that day, and on those before it.
        var lost = 0.0
        var before = 0.0

        /// What is expected of a day that comes later.
        func expected(on later: Int64) -> Double {
            let days = min(max(0, later - day), Self.longest)
            return days == 0 ? before : (before + lost) / Double(1 << days)
        }

        private static let longest: Int64 = 30
    }

    /// Less in an hour is nothing to remember, in seconds.
    private static let trifle = 0.5
    /// Nothing that is said of a later day is true.
    private static let days: ClosedRange<Int64> = 0...100_000

    mutating func lost(_ seconds: Double, in now: HourOfDay) {
        guard seconds > 0, seconds.isFinite else { return }
        var entry = hours[now.hour] ?? Entry(day: now.day)
        if entry.day < now.day { entry = Entry(day: now.day, before: entry.expected(on: now.day)) }
        entry.lost += seconds
        hours[now.hour] = entry
        hours = hours.filter { $0.value.day == now.day || $0.value.expected(on: now.day) >= Self.trifle }
    }

    /// What a second in the network is expected to lose in this hour, in seconds.
    func expected(in now: HourOfDay) -> Double {
        (hours[now.hour]?.expected(on: now.day) ?? 0) / Double(HourOfDay.seconds)
    }

    // MARK: Over a restart

    /// The losses that are worth remembering; nil for none. Those of this day so far count as its expected ones.
    func kept(on day: Int64) -> StoredHourlyOutage? {
        let seconds = (0..<24).map { hour -> Int in
            guard let entry = hours[hour] else { return 0 }
            let expected = entry.day == day ? entry.before + entry.lost : entry.expected(on: day)
            return Int(min(expected, Double(HourOfDay.seconds)).rounded())
        }
        guard Self.days.contains(day), seconds.contains(where: { $0 > 0 }) else { return nil }
        return StoredHourlyOutage(day: day, seconds: seconds)
    }

    /// Takes over what was kept; what the device has seen itself since it started counts more.
    mutating func remember(_ losses: StoredHourlyOutage) {
        guard Self.days.contains(losses.day) else { return }
        for (hour, seconds) in losses.seconds.prefix(24).enumerated()
        where 1...HourOfDay.seconds ~= seconds && hours[hour] == nil {
            hours[hour] = Entry(day: losses.day, before: Double(seconds))
        }
    }
}
