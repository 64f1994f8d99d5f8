import AgentModel

/// How much was lost in a network at each hour of the day, on the days before: what is jammed or overloaded every evening is no place to go
/// back to in the evening.
///
/// Hours are those of the device's own clock, which counts from its start: the same time tomorrow is the same hour, whatever the
/// wall clock says. Each day without a loss halves what is remembered.
struct LostByHour: Sendable, Hashable {
    private var hours: [Int64: Entry] = [:]

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

    private static let hour: Int64 = 3_600_000
    /// Less in an hour is nothing to remember, in seconds.
    private static let trifle = 0.5

    mutating func lost(_ seconds: Double, at now: Instant) {
        guard seconds > 0, seconds.isFinite else { return }
        let (hour, day) = Self.position(now)
        var entry = hours[hour] ?? Entry(day: day)
        if entry.day < day { entry = Entry(day: day, before: entry.expected(on: day)) }
        entry.lost += seconds
        hours[hour] = entry
        hours = hours.filter { $0.value.day == day || $0.value.expected(on: day) >= Self.trifle }
    }

    /// What a second in the network is expected to lose in this hour, in seconds.
    func expected(at now: Instant) -> Double {
        let (hour, day) = Self.position(now)
        return (hours[hour]?.expected(on: day) ?? 0) / Double(Self.hour / 1000)
    }

    private static func position(_ now: Instant) -> (hour: Int64, day: Int64) {
        let hours = now.milliseconds / hour
        return (hours % 24, hours / 24)
    }
}
