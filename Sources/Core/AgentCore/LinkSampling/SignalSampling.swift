import AgentModel
import Failover

/// Schedule of signal measurements: periodic, and at threshold crossings if the driver reports them.
struct SignalSampling: Sendable {
    let station: StationID
    let watch: SignalWatch
    /// ID of the measurements. Measurements with another ID are ignored.
    let number: UInt64
    private(set) var isSupervised = true

    /// Time until the first sample of a new link, because the kernel reports only crossings.
    private static let firstSample = Duration.seconds(1)

    init(_ watch: SignalWatch, of station: StationID, number: UInt64) {
        (self.station, self.watch, self.number) = (station, watch, number)
    }

    private var interval: Duration { isSupervised ? watch.interval : watch.unsupervisedInterval }

    func first(at now: Instant) -> Instant { now + min(interval, Self.firstSample) }

    /// Returns the time of the next sample, aligned to multiples of the interval, to share wake-ups.
    func next(after now: Instant) -> Instant {
        let milliseconds = max(interval.milliseconds, 1)
        return now + .milliseconds(milliseconds - now.milliseconds % milliseconds)
    }

    mutating func isUnsupervised() { isSupervised = false }
}

extension AgentCore {
    mutating func watchSignal(_ watch: SignalWatch?) {
        lastPublished.signalWatches += 1
        if watch == nil || signal?.station != inUse { loss.startOver(on: inUse) }
        signal = watch.map { SignalSampling($0, of: inUse, number: lastPublished.signalWatches) }
        emit(.watchSignal(inUse, watch))
        wait(.signal, until: signal?.first(at: now.instant))
    }

    mutating func signalUnsupervised(of station: StationID) {
        guard signal?.station == station else { return }
        signal?.isUnsupervised()
        wait(.signal, until: signal?.first(at: now.instant))
    }

    mutating func sampleSignal() {
        guard let signal else { return }
        emit(.measure(signal.station, signal.number))
        wait(.signal, until: signal.next(after: now.instant))
    }

    /// - Parameter isBelow: Whether the driver reports a fall below the threshold. This overrides `level`, which may be
    ///   outdated (brcmfmac): the driver does not report the fall again.
    mutating func signalCrossed(_ level: Int?, isBelow: Bool) {
        guard let signal, signal.station == inUse else { return }
        guard let level else { return emit(.measure(inUse, signal.number)) }
        measured(isBelow ? min(level, signal.watch.threshold - 1) : level)
    }
}
