import AgentModel

/// What validation may cost: so many questions and so many bytes an hour, whatever goes on. What was not
/// used is kept for an hour at most.
///
/// Where nothing is left, nothing is asked: the verdict before stands until ``next(at:)``.
public struct ValidationBudget: Sendable {
    /// Four times what an interval of 30 s needs.
    public static let defaultProbesPerHour = 480
    /// A question costs about 1 kB.
    public static let defaultBytesPerHour = 1_000_000

    private var probes: TokenBucket
    private var bytes: TokenBucket

    /// - Parameters:
    ///   - probesPerHour: 1 to 3600.
    ///   - bytesPerHour: 1 to 1 000 000 000.
    public init(probesPerHour: Int = defaultProbesPerHour, bytesPerHour: Int = defaultBytesPerHour) {
        probes = TokenBucket(min(probesPerHour, 3600), per: .seconds(3600), burst: min(probesPerHour, 3600))
        bytes = TokenBucket(bytesPerHour, per: .seconds(3600), burst: bytesPerHour)
    }

    /// Takes one question, if there is one and there are bytes for it.
    public mutating func takeProbe(at now: Instant) -> Bool {
        guard next(at: now) <= now else { return false }
        probes.take()
        return true
    }

    /// Tells what the question cost; more than was left is missing later.
    public mutating func spent(bytes count: Int) { bytes.take(count) }

    /// When the next question may be asked; not before now.
    public mutating func next(at now: Instant) -> Instant {
        now + max(probes.delay(at: now), bytes.delay(at: now))
    }
}
