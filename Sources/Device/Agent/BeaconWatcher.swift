import AgentCore
import AgentModel
import Linux
import Logging
import Netlink

/// Samples the radio's counts while the device is in use or the radio scans (`BeaconWatch`), and has the access point asked when it
/// seems silent.
@AgentLoop
final class BeaconWatcher {
    let radio: WirelessRadio
    let accessPoint: BSSID
    private let onEvent: (SilenceReport) -> Void
    private var watch: BeaconWatch
    private var timer: LoopTimer?
    private var trafficTimer: LoopTimer?
    private var phase = Phase.watching

    private enum Phase {
        case watching
        case asking
        /// It did not answer; a last look at the counts is to confirm that.
        case unanswered
        case over
    }

    init(beacons: Int, of accessPoint: BSSID, radio: WirelessRadio, onEvent: @escaping (SilenceReport) -> Void) {
        self.accessPoint = accessPoint
        self.radio = radio
        self.onEvent = onEvent
        watch = BeaconWatch(beacons: beacons)
        lookForTraffic()
        waitForTraffic()
    }

    /// Other timers with such intervals come at the same time, so that the processor wakes once for both.
    private func waitForTraffic() {
        trafficTimer = LoopTimer(every: Self.trafficInterval) { [weak self] in
            self?.lookForTraffic()
            self?.waitForTraffic()
        }
    }

    private static let trafficInterval = Duration.seconds(10)

    /// The processor is awake, whatever for: has the device come into use?
    func lookForTraffic() {
        guard timer == nil, phase == .watching else { return }
        countTraffic()
        plan()
    }

    /// - Parameter isUnderWay: whether a scan begins or ends.
    func scan(isUnderWay: Bool) {
        // A scan that begins while the access point is asked is the question itself.
        guard phase == .watching || !isUnderWay else { return }
        watch.scan(isUnderWay: isUnderWay, at: .now)
        if timer == nil { plan() }
    }

    /// The access point was asked, as wanted by `suspected`.
    func asked(isThere: Bool) {
        guard phase == .asking else { return }
        if isThere {
            watch.startOver(at: .now)
            goOn()
        } else {
            phase = .unanswered
            sample()
        }
    }

    private func goOn() {
        phase = .watching
        plan()
    }

    private func countTraffic() {
        let now = Instant.now
        if watch.isCountDue(at: now), let frames = radio.framesSent { watch.sent(frames, at: now) }
    }

    private func plan() {
        timer = nil
        guard phase == .watching, let next = watch.next else { return }
        timer = LoopTimer(after: next - .now) { [weak self] in self?.sample() }
    }

    private func sample() {
        AgentLoop.begin { [weak self] in
            let station = try? await self?.radio.station()
            self?.sampled(station)
        }
    }

    private func sampled(_ station: StationInfo?) {
        guard phase == .watching || phase == .unanswered else { return }
        // Without an answer the link has ended, which is told by others, or the kernel is busy.
        let finding = station.map { watch.sampled($0, at: .now) }
        switch (finding, phase) {
        case (.untold, _): end(.untold)
        case (.silent, .unanswered): end(.confirmed)
        case (.silent, _):
            phase = .asking
            timer = nil
            onEvent(.suspected)
        case (.fine, _), (nil, _):
            if finding == nil { watch.startOver(at: .now) }
            countTraffic()
            goOn()
        }
    }

    private func end(_ event: SilenceReport) {
        phase = .over
        (timer, trafficTimer) = (nil, nil)
        onEvent(event)
    }
}
