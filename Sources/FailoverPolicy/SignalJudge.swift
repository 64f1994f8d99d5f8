import AgentModel

/// Tells a link that is weak from one that was weak for a moment.
struct SignalJudge: Hashable {
    enum Verdict: Comparable {
        /// As it should be, or not yet known to be otherwise.
        case fine
        /// The last sample was weak: look closer, and see what else there is.
        case doubtful
        /// Weak for long enough.
        case weak
        /// Critical for long enough.
        case critical
    }

    private(set) var latest: Int?
    private var weak = Streak()
    private var critical = Streak()

    /// An uninterrupted run of samples below a threshold.
    private struct Streak: Hashable {
        var start: Instant?
        var samples = 0

        mutating func add(_ isBelow: Bool, at now: Instant) {
            guard isBelow else {
                self = Streak()
                return
            }
            start = start ?? now
            samples += 1
        }

        func isConfirmed(at now: Instant, after duration: Duration, samples minimum: Int) -> Bool {
            guard let start else { return false }
            return samples >= minimum && now - start >= duration
        }
    }

    mutating func add(_ signal: Int, at now: Instant, thresholds: PolicySettings.Thresholds) {
        latest = signal
        weak.add(signal < thresholds.weak, at: now)
        critical.add(signal < thresholds.critical, at: now)
    }

    func verdict(at now: Instant, settings: PolicySettings) -> Verdict {
        let samples = settings.confirmationSamples
        if critical.isConfirmed(at: now, after: settings.criticalConfirmation, samples: samples) { return .critical }
        if weak.isConfirmed(at: now, after: settings.weakConfirmation, samples: samples) { return .weak }
        return weak.start == nil ? .fine : .doubtful
    }
}
