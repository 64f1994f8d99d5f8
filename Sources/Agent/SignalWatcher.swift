import AgentModel
import EventLoop
import FailoverPolicy
import Logging
import Netlink

/// Measures the signal of the current link at an interval, and at once when the kernel sees it cross the threshold.
@AgentLoop
final class SignalWatcher {
    private let watch: SignalWatch
    private let radio: WirelessRadio
    private let log: Logger
    private let onReading: (Int) -> Void
    private var timer: LoopTimer?

    init(_ watch: SignalWatch, radio: WirelessRadio, log: Logger, onReading: @escaping (Int) -> Void) {
        self.watch = watch
        self.radio = radio
        self.log = log
        self.onReading = onReading
        setThreshold()
        wait()
    }

    /// Some drivers cannot watch the signal by themselves; then the interval alone has to do.
    private func setThreshold() {
        Task { [radio, watch, log] in
            do { try await radio.setSignalThresholds([watch.threshold]) } catch {
                log.debug("no signal supervision by the driver: \(error)")
            }
        }
    }

    private func wait() {
        // A tenth of the interval as leeway lets the kernel wake the processor for several things at once.
        timer = LoopTimer(after: watch.interval, leeway: watch.interval / 10) { [weak self] in
            self?.measure()
            self?.wait()
        }
    }

    /// The kernel saw the signal cross the threshold, at this level where the driver says it.
    func crossed(_ level: Int?) {
        if let level { onReading(level) } else { measure() }
    }

    private func measure() {
        Task { [weak self] in
            guard let strength = try? await self?.radio.station()?.strength else { return }
            self?.onReading(strength)
        }
    }
}
