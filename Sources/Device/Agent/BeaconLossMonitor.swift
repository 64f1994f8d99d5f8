import AgentCore
import AgentModel
import Linux
import Netlink

/// Reads the counters of radio and interface for `BeaconLossDetector` and reports its results.
@AgentLoop
final class BeaconLossMonitor {
    private let radio: WirelessRadio
    private let askGateway: () -> Void
    private let onEvent: (SilenceReport) -> Void
    private var watch: BeaconLossDetector
    private var timer: LoopTimer?
    private var trafficTimer: LoopTimer?

    /// - Parameter askGateway: sends a frame to the gateway, which the gateway answers at once.
    init(
        _ watch: BeaconLossDetector, radio: WirelessRadio, askGateway: @escaping () -> Void,
        onEvent: @escaping (SilenceReport) -> Void
    ) {
        self.radio = radio
        self.askGateway = askGateway
        self.onEvent = onEvent
        self.watch = watch
        lookForTraffic()
        waitForTraffic()
    }

    /// Schedules the next check of the traffic. Interval timers are aligned, so the processor wakes once for several
    /// timers.
    private func waitForTraffic() {
        trafficTimer = LoopTimer(every: BeaconLossDetector.trafficInterval) { [weak self] in
            self?.lookForTraffic()
            self?.waitForTraffic()
        }
    }

    /// Checks whether the device has started to send traffic. Call this while the processor is awake anyway.
    func lookForTraffic() {
        if let frames { handle(.framesSent(frames)) }
    }

    private var frames: UInt64? { watch.wantsFrames(at: .now) ? radio.framesSent : nil }

    func handle(_ event: BeaconLossDetector.Event) {
        let effect = watch.handle(event, at: .now)
        if watch.isOver { (timer, trafficTimer) = (nil, nil) }
        switch effect {
        case nil: break
        case .sample(let moment, let asksGateway):
            if asksGateway { askGateway() }
            timer = LoopTimer(after: moment - .now) { [weak self] in self?.sample() }
        case .count(let moment, let asksGateway):
            if asksGateway { askGateway() }
            timer = LoopTimer(after: moment - .now) { [weak self] in self?.count() }
        case .report(let report):
            onEvent(report)
            // From now on, use only the interface's counters.
            if report == .unknown, let sent = radio.framesSent { handle(.framesSent(sent)) }
        }
    }

    private func count() {
        handle(.counted(radio.frames.map { LinkFrames(sent: $0.sent, received: $0.received) }))
    }

    private func sample() {
        AgentLoop.begin { [weak self] in
            let station = try? await self?.radio.station()
            guard let self else { return }
            handle(.sampled(station, framesSent: frames))
        }
    }
}
