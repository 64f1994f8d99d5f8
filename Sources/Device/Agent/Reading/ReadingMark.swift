import AgentModel
import Failover

/// The device's knowledge of one source of data from outside: the content of its mark.
enum ReadingMark: Hashable, Sendable {
    /// It is being read. So often the agent has died of it before.
    case reading(deaths: Int)
    /// The agent died while it was being read, so often: it is left alone until then.
    case leftAlone(deaths: Int, until: Instant)

    static let waits = BackOff(first: .seconds(60), last: .seconds(86_400))
    /// More deaths make no difference, and nothing overflows.
    private static let mostDeaths = 1000

    /// The meaning of a mark whose agent has ended.
    func found(at now: Instant) -> ReadingMark {
        switch self {
        case .reading(let deaths):
            let deaths = min(deaths, Self.mostDeaths - 1) + 1
            return .leftAlone(deaths: deaths, until: now + Self.waits.wait(after: deaths - 1))
        // A clock that began anew is no reason to wait for longer than ever.
        case .leftAlone(let deaths, let until):
            return .leftAlone(deaths: deaths, until: min(until, now + Self.waits.wait(after: deaths - 1)))
        }
    }

    /// The mark while the source is read; nil where that is not to be now.
    func begun(at now: Instant) -> ReadingMark? {
        switch self {
        case .reading: self
        case .leftAlone(let deaths, let until): now < until ? nil : .reading(deaths: deaths)
        }
    }
}

extension ReadingMark {
    /// One line without its line feed: `reading 0`, `left 2 1800000`, with milliseconds of the clock that only goes on.
    var text: String {
        switch self {
        case .reading(let deaths): "reading \(deaths)"
        case .leftAlone(let deaths, let until): "left \(deaths) \(until.milliseconds)"
        }
    }

    /// - Returns: nil for what is no mark.
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
