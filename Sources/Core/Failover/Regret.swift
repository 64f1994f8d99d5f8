import AgentModel

/// The cost of staying beside the best other choice, in seconds of outage: a sum that noise about nothing does not let grow (CUSUM;
/// Page, Continuous inspection schemes, 1954).
struct Regret: Hashable, Sendable {
    private(set) var seconds = 0.0
    private var countedUntil: Instant?

    /// Seconds since the last call.
    /// - Parameter longest: more time than this is time of which nothing is known.
    mutating func elapse(to now: Instant, atMost longest: Duration) -> Double {
        let before = countedUntil ?? now
        countedUntil = now
        return Double(min(now - before, longest).milliseconds) / 1000
    }

    /// Adds a loss from before the device noticed it, in seconds of outage.
    mutating func credit(_ lost: Double) { seconds += lost }

    /// - Parameter saving: by the second; nil where no other choice is better, so that the sum begins anew.
    mutating func add(_ saving: Double?, for time: Double) {
        seconds = saving.map { max(0, seconds + $0 * time) } ?? 0
    }
}
