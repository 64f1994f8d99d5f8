import AgentModel

/// State of one source of outside data. A file in the runtime folder, the source's mark, contains the state.
enum ReadingMark: Hashable, Sendable {
    /// A reading is running. `deaths` counts earlier crashes in a row.
    case reading(deaths: Int)
    /// The agent crashed while reading. The source is paused.
    case leftAlone(deaths: Int, until: Instant)

    static let waits = BackOff(first: .seconds(60), last: .seconds(86_400))
    /// Maximum of `deaths`, which prevents an overflow.
    private static let mostDeaths = 1000

    /// Returns the state after a restart of the agent.
    func found(at now: Instant) -> ReadingMark {
        switch self {
        case .reading(let deaths):
            let deaths = min(deaths, Self.mostDeaths - 1) + 1
            return .leftAlone(deaths: deaths, until: now + Self.waits.wait(after: deaths - 1))
        // Limit the wait, because the monotonic clock may have restarted.
        case .leftAlone(let deaths, let until):
            return .leftAlone(deaths: deaths, until: min(until, now + Self.waits.wait(after: deaths - 1)))
        }
    }

    /// Returns the mark for a new reading; nil while the source is paused.
    func begun(at now: Instant) -> ReadingMark? {
        switch self {
        case .reading: self
        case .leftAlone(let deaths, let until): now < until ? nil : .reading(deaths: deaths)
        }
    }
}

extension ReadingMark {
    /// The mark as one line without a line feed: `reading 0`, or `left 2 1800000` with milliseconds of the monotonic
    /// clock.
    var text: String {
        switch self {
        case .reading(let deaths): "reading \(deaths)"
        case .leftAlone(let deaths, let until): "left \(deaths) \(until.milliseconds)"
        }
    }

    /// - Returns: nil for malformed text.
    init?(_ text: some StringProtocol) {
        let words = text.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int64($0) }
        guard let deaths = numbers.first.flatMap({ Int(exactly: $0) }), numbers.count == words.count - 1,
            (0...Self.mostDeaths).contains(deaths)
        else { return nil }
        switch (words[0], numbers.count) {
        case ("reading", 1): self = .reading(deaths: deaths)
        case ("left", 2) where deaths > 0: self = .leftAlone(deaths: deaths, until: Instant(milliseconds: numbers[1]))
        default: return nil
        }
    }
}
