import AgentModel

/// Tells a link that is weak from one that was weak for a moment.
struct SignalJudge: Hashable {
    enum Verdict: Comparable {
        /// As it should be, or not yet known to be otherwise.
        case fine
        /// The last sample was weak: measure more often, and scan.
        case doubtful
        /// Weak for long enough to take another access point of the same network, which costs next to nothing, or
        /// another network that is better by far.
        case sagging
        /// Weak for long enough to take any network that is better.
        case weak
        /// Weak, and at this pace soon critical.
        case fading
        /// Critical for long enough.
        case critical
    }

    private(set) var latest: Int?
    private var weak = Streak()
    private var critical = Streak()
    private var samples: [Sample] = []

    private struct Sample: Hashable {
        let at: Instant
        let signal: Int
    }

    private static let sampleLimit = 8
    private static let memory = Duration.seconds(20)
    /// Samples further apart than this are no run.
    private static let longestSilence = Duration.seconds(30)

    /// An uninterrupted run of samples below a threshold.
    private struct Streak: Hashable {
        var start: Instant?
        var last: Instant?
        var samples = 0

        mutating func add(_ isBelow: Bool, at now: Instant) {
            guard isBelow else {
                self = Streak()
                return
            }
            if let last, now - last > SignalJudge.longestSilence { self = Streak() }
            start = start ?? now
            last = now
            samples += 1
        }

        /// Silence confirms nothing.
        func isConfirmed(after duration: Duration, samples minimum: Int) -> Bool {
            guard let start, let last else { return false }
            return samples >= minimum && last - start >= duration
        }
    }

    mutating func add(
        _ signal: Int, at now: Instant, thresholds: PolicySettings.Thresholds, settings: PolicySettings
    ) {
        latest = signal
        // A signal at the threshold is neither here nor there: it has to be better to be fine again.
        weak.add(signal < thresholds.weak + (weak.start == nil ? 0 : settings.recovery), at: now)
        critical.add(signal < thresholds.critical, at: now)
        samples.removeAll { now - $0.at > Self.memory }
        if samples.count == Self.sampleLimit { samples.removeFirst() }
        samples.append(Sample(at: now, signal: signal))
        isFading = weak.samples > settings.confirmationSamples && isFalling(to: thresholds.critical, settings: settings)
    }

    /// Whether the last samples fall so fast that the link will soon be critical.
    private var isFading = false

    private func isFalling(to critical: Int, settings: PolicySettings) -> Bool {
        guard let trend, let level, trend.slope + 2 * trend.error < Self.clearFall else { return false }
        return Double(level) + trend.slope * settings.fadingHorizon.seconds < Double(critical)
    }

    /// In dB a second; less may be noise, and so may be what the samples scatter about.
    private static let clearFall = -0.3
    /// Of fewer samples the standard error is a guess.
    private static let clearSamples = 8

    /// How the signal changes: the slope of the line that fits the samples best and its standard error, in dB a second, and where the
    /// line is at the last sample, in dBm.
    private var trend: (slope: Double, error: Double, end: Double)? {
        guard let first = samples.first, let last = samples.last, last.at - first.at >= .seconds(5) else { return nil }
        let points = samples.map { (x: ($0.at - first.at).seconds, y: Double($0.signal)) }
        let count = Double(points.count)
        let mean = (x: points.reduce(0) { $0 + $1.x } / count, y: points.reduce(0) { $0 + $1.y } / count)
        let spread = points.reduce(0) { $0 + ($1.x - mean.x) * ($1.x - mean.x) }
        guard spread > 0, points.count > 2 else { return nil }
        let slope = points.reduce(0) { $0 + ($1.x - mean.x) * ($1.y - mean.y) } / spread
        let scatter = points.reduce(0) { sum, point in
            let distance = point.y - mean.y - slope * (point.x - mean.x)
            return sum + distance * distance
        }
        let end = mean.y + slope * ((last.at - first.at).seconds - mean.x)
        return (slope, (scatter / (count - 2) / spread).squareRoot(), end)
    }

    var isBelowCritical: Bool { critical.samples > 0 }

    /// The link's signal in dBm, without the quick changes of single samples: where it falls or rises beyond doubt, the end of the
    /// line, which a mean would be seconds behind.
    var level: Int? {
        guard let last = samples.last else { return nil }
        if samples.count >= Self.clearSamples, let trend, abs(trend.slope) - 3 * trend.error > -Self.clearFall {
            return Int(trend.end.rounded())
        }
        let recent = samples.filter { last.at - $0.at <= .seconds(8) }
        return recent.reduce(0) { $0 + $1.signal } / recent.count
    }

    func verdict(settings: PolicySettings) -> Verdict {
        let samples = settings.confirmationSamples
        if critical.isConfirmed(after: settings.criticalConfirmation, samples: samples) { return .critical }
        if isFading { return .fading }
        if weak.isConfirmed(after: settings.weakConfirmation, samples: samples) { return .weak }
        if critical.isConfirmed(after: .zero, samples: samples) { return .sagging }
        if weak.isConfirmed(after: settings.criticalConfirmation, samples: samples) { return .sagging }
        return weak.start == nil ? .fine : .doubtful
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(milliseconds) / 1000 }
}
