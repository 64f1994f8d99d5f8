import AgentModel
import Failover
import Linux
import Logging
import Netlink

/// Measures the signal of the current link at an interval, and at once when the kernel sees it cross the threshold. Where
/// the driver cannot watch the threshold, the interval is a shorter one.
@AgentLoop
final class SignalWatcher {
    private let watch: SignalWatch
    private let radio: WirelessRadio
    private let log: Logger
    private let onReading: (Int) -> Void
    private var interval: Duration
    private var timer: LoopTimer?

    init(_ watch: SignalWatch, radio: WirelessRadio, log: Logger, onReading: @escaping (Int) -> Void) {
        self.watch = watch
        self.radio = radio
        self.log = log
        self.onReading = onReading
        interval = watch.interval
        setThreshold()
        // The kernel tells of crossings only, and this link was not measured yet.
        waitForFirst()
    }

    private static let firstSample = Duration.seconds(1)

    private func setThreshold() {
        Task { [weak self, radio, watch, log] in
            do {
                // The kernel tells of a crossing only when it is past by the hysteresis.
                try await radio.setSignalThresholds([watch.threshold + Self.hysteresis], hysteresis: Self.hysteresis)
            } catch {
                log.debug("no signal supervision by the driver: \(error)")
                self?.isUnsupervised()
            }
        }
    }

    /// In dB.
    private static let hysteresis = 2

    private func isUnsupervised() {
        interval = watch.unsupervisedInterval
        waitForFirst()
    }

    private func waitForFirst() {
        timer = LoopTimer(after: min(interval, Self.firstSample)) { [weak self] in self?.sample() }
    }

    private func sample() {
        measure()
        timer = LoopTimer(every: interval) { [weak self] in self?.sample() }
    }

    /// The kernel saw the signal cross the threshold, at this level where the driver says it.
    func crossed(_ level: Int?, on radio: WirelessRadio) {
        guard radio === self.radio else { return }
        if let level { onReading(level) } else { measure() }
    }

    private func measure() {
        AgentLoop.begin { [weak self] in
            guard let strength = try? await self?.radio.station()?.strength else { return }
            self?.onReading(strength)
        }
    }
}
