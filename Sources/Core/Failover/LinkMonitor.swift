import AgentModel

/// The link in use, as its samples show it: signal, trend and frame loss.
struct LinkMonitor: Sendable, Hashable {
    /// Last sample in dBm.
    private(set) var latest: Int?
    /// Start of the run of weak samples; nil while the signal is fine. A run ends `recovery` dB above weak.
    private(set) var weakSince: Instant?
    /// Whether the signal falls so fast that it will be critical within `horizon`, or has suddenly fallen that low.
    private(set) var isFading = false
    /// Whether the signal has suddenly fallen within `horizon`, or may have: the first weak samples are far lower.
    private(set) var mayHaveFallen = false
    /// Share of frames lost at whatever signal, 0 to 1: interference, or a busy channel. Less than `leastLoss` is 0.
    private(set) var loss = 0.0
    /// Whether one sample of the frame loss says enough.
    var isLossHeavy: Bool { loss >= 0.3 }
    /// Interval of the samples; nil for that of a fine link.
    var sampling: Duration?
    /// `level` at the last scan for something better, in dBm.
    var levelAtScan: Int?
    private var lossAt: Instant?
    private var weakSamples = 0
    private var criticalSamples = 0
    /// Last sample that was not weak, in dBm.
    private var fine: Int?
    /// Time of the last sudden fall.
    private var fallenAt: Instant?
    private var samples: [Sample] = []

    private struct Sample: Hashable {
        let at: Instant
        let signal: Int
    }

    private static let sampleLimit = 8
    private static let memory = Duration.seconds(20)
    private static let lossMemory = Duration.seconds(120)
    /// Loss in percent below which it counts as 0. Any busy channel loses some frames.
    private static let leastLoss = 10
    /// Time until a falling signal is critical, at most, for it to count as fading.
    private static let horizon = Duration.seconds(15)
    /// Clear slope in dB a second. A slower change may be noise.
    private static let clearSlope = 0.3
    private static let longestMean = Duration.seconds(8)
    /// Fall in dB that is a new place or a closed door, not noise, if the last `stepSamples` samples show it.
    private static let step = 18
    private static let stepSamples = 3

    mutating func add(_ signal: Int, at now: Instant, thresholds: PolicySettings.Thresholds, recovery: Int) {
        latest = signal
        if let lossAt, now - lossAt > Self.lossMemory { (loss, self.lossAt) = (0, nil) }
        samples.removeAll { now - $0.at > Self.memory }
        if samples.count == Self.sampleLimit { samples.removeFirst() }
        samples.append(Sample(at: now, signal: signal))
        if signal < thresholds.weak + (weakSince == nil ? 0 : recovery) {
            weakSince = weakSince ?? now
            weakSamples += 1
            if weakSamples == Self.stepSamples { noticeFall(at: now) }
        } else {
            (weakSince, weakSamples, fine, fallenAt) = (nil, 0, signal, nil)
        }
        criticalSamples = signal < thresholds.critical ? criticalSamples + 1 : 0
        let hasFallen = fallenAt.map { now - $0 <= Self.horizon } ?? false
        mayHaveFallen =
            hasFallen || (1..<Self.stepSamples).contains(weakSamples) && fine.map { signal <= $0 - Self.step } ?? false
        isFading =
            weakSamples > 3 && isFalling(to: thresholds.critical)
            || hasFallen && criticalSamples >= Self.stepSamples
    }

    /// After a sudden fall, forgets the samples from before it, which would hold `level` up for 8 s.
    private mutating func noticeFall(at now: Instant) {
        let newest = samples.suffix(Self.stepSamples)
        guard let fine, newest.allSatisfy({ $0.signal <= fine - Self.step }) else { return }
        (samples, fallenAt) = (Array(newest), now)
    }

    /// - Parameter percent: frames lost since the sample before.
    mutating func lost(_ percent: Int, at now: Instant) {
        lossAt = now
        let percent = min(100, max(0, percent))
        loss = percent < Self.leastLoss ? 0 : Double(percent) / 100
    }

    /// Signal in dBm, filtered: the mean of the last 8 s. Where the signal clearly falls or rises, the end of the
    /// fitted line instead, because a mean lags by seconds.
    var level: Int? {
        guard let last = samples.last else { return nil }
        if samples.count == Self.sampleLimit, let trend, abs(trend.slope) - 3 * trend.error > Self.clearSlope {
            return Int(trend.end.rounded())
        }
        let recent = samples.filter { last.at - $0.at <= Self.longestMean }
        return recent.reduce(0) { $0 + $1.signal } / recent.count
    }

    private func isFalling(to critical: Int) -> Bool {
        guard let trend, let level, trend.slope + 2 * trend.error < -Self.clearSlope else { return false }
        return Double(level) + trend.slope * Self.horizon.seconds < Double(critical)
    }

    /// Line that fits the samples best: slope and its standard error in dB a second, and the line's end in dBm.
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
}

/// Channels that the device left because of frame loss. For a while they are not used to escape from another such one.
struct CongestedChannels: Sendable, Hashable {
    private var left: [Frequency: Instant] = [:]

    private static let memory = Duration.seconds(300)
    private static let limit = 4
    /// Channels closer than this overlap, in MHz.
    private static let width = 22

    mutating func leave(_ frequency: Frequency?, at now: Instant) {
        guard let frequency else { return }
        left[frequency] = now
        left.forgetEarliest(beyond: Self.limit) { $0 }
    }

    func contains(_ frequency: Frequency, at now: Instant) -> Bool {
        left.contains { now - $0.value <= Self.memory && Self.overlap($0.key, frequency) }
    }

    static func overlap(_ one: Frequency, _ other: Frequency) -> Bool {
        abs(one.megahertz - other.megahertz) < width
    }
}

extension Duration {
    var seconds: Double { Double(milliseconds) / 1000 }
}
