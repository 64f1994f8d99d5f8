import AgentModel
import Failover

/// When the signal of the link in use is measured: at an interval, and at once when the kernel sees it cross the
/// threshold. Where the driver does not watch the threshold, the interval is a shorter one.
struct SignalSampling: Sendable {
    let station: StationID
    let watch: SignalWatch
    /// Marks its measurements. What an earlier one brings is of another link, or of another interest in it.
    let number: UInt64
    private(set) var isSupervised = true

    /// The kernel tells of crossings only, and this link has not been measured yet.
    private static let firstSample = Duration.seconds(1)

    init(_ watch: SignalWatch, of station: StationID, number: UInt64) {
        (self.station, self.watch, self.number) = (station, watch, number)
    }

    private var interval: Duration { isSupervised ? watch.interval : watch.unsupervisedInterval }

    func first(at now: Instant) -> Instant { now + min(interval, Self.firstSample) }

    /// A multiple of the interval, so that all that is done at such intervals is done at one time.
    func next(after now: Instant) -> Instant {
        let milliseconds = max(interval.milliseconds, 1)
        return now + .milliseconds(milliseconds - now.milliseconds % milliseconds)
    }

    mutating func isUnsupervised() { isSupervised = false }
}

extension AgentCore {
    mutating func watchSignal(_ watch: SignalWatch?) {
        notes.signalWatches += 1
        if watch == nil || signal?.station != inUse { loss.startOver(on: inUse) }
        signal = watch.map { SignalSampling($0, of: inUse, number: notes.signalWatches) }
        order(.watchSignal(inUse, watch))
        wait(.signal, until: signal?.first(at: now.instant))
    }

    mutating func signalUnsupervised(of station: StationID) {
        guard signal?.station == station else { return }
        signal?.isUnsupervised()
        wait(.signal, until: signal?.first(at: now.instant))
    }

    mutating func sampleSignal() {
        guard let signal else { return }
        order(.measure(signal.station, signal.number))
        wait(.signal, until: signal.next(after: now.instant))
    }

    /// - Parameter isBelow: whether the driver says that the signal has fallen below the threshold. Then it is, also where
    ///   the level that comes with it is a moment older (brcmfmac's is): nothing more is told of a signal that falls on.
    mutating func signalCrossed(_ level: Int?, isBelow: Bool, of station: StationID) {
        guard let signal, signal.station == station else { return }
        guard let level else { return order(.measure(station, signal.number)) }
        measured(isBelow ? min(level, signal.watch.threshold - 1) : level)
    }
}
