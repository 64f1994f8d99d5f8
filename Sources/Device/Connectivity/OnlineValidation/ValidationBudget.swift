import AgentModel

/// What validation may cost: so many questions and so many bytes an hour, whatever goes on. An allowance that was not
/// used is kept for an hour at most.
///
/// Where nothing is left, nothing is asked: the verdict before stands until ``next(at:)``.
public struct ValidationBudget: Sendable {
    /// Four times what an interval of 30 s needs.
    public static let defaultProbesPerHour = 480
    /// A question costs about 1 kB.
    public static let defaultBytesPerHour = 1_000_000

    private var probes: Allowance
    private var bytes: Allowance

    /// - Parameters:
    ///   - probesPerHour: 1 to 3600.
    ///   - bytesPerHour: 1 to 1 000 000 000.
    public init(
        probesPerHour: Int = defaultProbesPerHour, bytesPerHour: Int = defaultBytesPerHour, at now: Instant
    ) {
        probes = Allowance(perHour: min(max(1, probesPerHour), 3600), at: now)
        bytes = Allowance(perHour: min(max(1, bytesPerHour), 1_000_000_000), at: now)
    }

    /// Takes one question, if there is one and there are bytes for it.
    public mutating func takeProbe(at now: Instant) -> Bool {
        guard next(at: now) <= now else { return false }
        probes.take(1)
        return true
    }

    /// Tells what the question cost; more than was left is missing later.
    public mutating func spent(bytes count: Int) { bytes.take(count) }

    /// When the next question may be asked; not before now.
    public mutating func next(at now: Instant) -> Instant {
        probes.fill(at: now)
        bytes.fill(at: now)
        return now + max(probes.delay, bytes.delay)
    }
}

/// Fills evenly. Counted in parts of which one thing has as many as an hour has milliseconds, so that nothing is lost
/// however often it is filled.
private struct Allowance: Sendable {
    private static let hour: Int64 = 3_600_000

    private let perHour: Int64
    private var level: Int64
    private var filled: Instant

    init(perHour: Int, at now: Instant) {
        self.perHour = Int64(perHour)
        level = self.perHour * Self.hour
        filled = now
    }

    mutating func fill(at now: Instant) {
        // After a day it is full, whatever was owed: no question costs a day's bytes.
        let elapsed = min(max(0, (now - filled).milliseconds), 24 * Self.hour)
        level = min(perHour * Self.hour, level + elapsed * perHour)
        filled = now
    }

    mutating func take(_ count: Int) {
        level = max(-24 * perHour * Self.hour, level - Int64(min(count, Int(Int32.max))) * Self.hour)
    }

    /// Until there is one.
    var delay: Duration {
        let missing = Self.hour - level
        return missing <= 0 ? .zero : .milliseconds((missing + perHour - 1) / perHour)
    }
}
