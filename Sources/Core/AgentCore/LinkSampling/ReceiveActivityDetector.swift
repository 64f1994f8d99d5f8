import AgentModel

/// Detects a silent access point by received frames, for radios that do not count beacons.
///
/// ```
/// idle <-> listening -> probing -> asking -> lastLook -> (silent)
///              ^           |         |          |
///              +-----------+---------+----------+      a frame was received, or the access point answered
/// ```
///
/// A device that sends also receives. If nothing arrives for `window`, the gateway is probed several times with
/// unicast. If that fails too, the access point is checked by a scan of its channel (`SilenceReport.suspected`). False
/// alarms double the window; periods without alarms halve it. An idle device is checked at `idlePace`, and its gateway
/// is probed if nothing arrived since the last check.
struct ReceiveActivityDetector: Sendable {
    private enum Phase: Equatable {
        case idle
        case listening
        /// Number of probes to the gateway.
        case probing(Int)
        case asking
        /// The access point did not answer. The counters are read twice.
        case lastLook(isSecond: Bool)
    }

    private var traffic: TrafficMeter
    private var phase = Phase.idle
    private var isScanning = false
    private var isCounting = false
    /// Counters at the last received frame, and the time.
    private var heard: (frames: LinkFrames, at: Instant)?
    private var lastCount: Instant?
    /// Silence longer than this is suspicious.
    private(set) var window = shortestWindow
    /// Number of successive reads with received frames.
    private var calmCounts = 0

    /// Interval of reads on an idle device; nil for none.
    private let idlePace: Duration?
    /// Current multiple of `idlePace`, 1 to 128.
    private var idleFactor = 1

    init(following traffic: TrafficMeter, idlePace: Duration?) {
        (self.traffic, self.idlePace) = (traffic, idlePace)
    }

    private var isWatching: Bool { traffic.isInUse || idlePace != nil }

    /// Interval of reads without suspicion.
    private var calmPace: Duration {
        guard !traffic.isInUse, let idlePace else { return Self.pace }
        return idlePace * idleFactor
    }

    func isCountDue(at now: Instant) -> Bool { traffic.isCountDue(at: now) }

    mutating func handle(_ event: BeaconLossDetector.Event, at now: Instant) -> BeaconLossDetector.Effect? {
        switch event {
        case .framesSent(let frames):
            _ = traffic.sent(frames, at: now)
            return begin(at: now)
        case .scan(let isUnderWay):
            // A scan in this phase is the check itself.
            guard phase != .asking else { return nil }
            isScanning = isUnderWay
            if isUnderWay { rest() }
            return begin(at: now)
        case .asked(let isThere):
            guard phase == .asking else { return nil }
            isScanning = false
            guard isThere else {
                phase = .lastLook(isSecond: false)
                return count(at: now, asksGateway: true)
            }
            lengthen(to: Self.longestWindow)
            if !traffic.isInUse { idleFactor = min(idleFactor * 2, Self.greatestIdleFactor) }
            rest()
            return begin(at: now)
        case .counted(let frames):
            guard isCounting else { return nil }
            isCounting = false
            guard let frames else {
                rest()
                return begin(at: now)
            }
            return counted(frames, at: now)
        case .sampled: return nil
        }
    }

    /// Starts to listen, except during a scan, when the radio is off its channel and the firmware watches the link.
    private mutating func begin(at now: Instant) -> BeaconLossDetector.Effect? {
        guard phase == .idle, !isCounting, isWatching, !isScanning else { return nil }
        phase = .listening
        heard = nil
        return count(at: now)
    }

    private mutating func rest() {
        phase = .idle
        heard = nil
        isCounting = false
        lastCount = nil
    }

    private mutating func count(at moment: Instant, asksGateway: Bool = false) -> BeaconLossDetector.Effect {
        isCounting = true
        return .count(at: moment, asksGateway: asksGateway)
    }

    private mutating func counted(_ frames: LinkFrames, at now: Instant) -> BeaconLossDetector.Effect? {
        _ = traffic.sent(frames.sent, at: now)
        // After a long gap, such as sleep, the old counters are useless.
        let wasAway = lastCount.map { now > $0 + max(Self.patience, calmPace * 2) } ?? false
        lastCount = now
        if case .lastLook(isSecond: false) = phase {
            // Some drivers count frames of the firmware at the end of a scan, so this read only starts the comparison.
            heard = (frames, now)
            phase = .lastLook(isSecond: true)
            return count(at: now + Self.lastWait)
        }
        guard let heard, !wasAway, heard.frames.received == frames.received, heard.frames.sent <= frames.sent else {
            return received(frames, at: now)
        }
        switch phase {
        case .lastLook:
            rest()
            return .report(.confirmed)
        case .probing(Self.probes):
            phase = .asking
            return .report(.suspected)
        case .probing(let asked):
            phase = .probing(asked + 1)
            return count(at: now + Self.probeWait, asksGateway: true)
        case .idle, .listening, .asking:
            guard traffic.isInUse else {
                phase = .probing(1)
                return count(at: now + Self.probeWait, asksGateway: true)
            }
            guard now - heard.at >= window, frames.sent - heard.frames.sent >= Self.unanswered else {
                return count(at: now + Self.pace)
            }
            phase = .probing(1)
            return count(at: now + Self.probeWait, asksGateway: true)
        }
    }

    private mutating func received(_ frames: LinkFrames, at now: Instant) -> BeaconLossDetector.Effect? {
        switch phase {
        // The gateway answered an idle device. This is normal, so the window stays the same.
        case .probing where !traffic.isInUse: idleFactor = max(idleFactor / 2, 1)
        case .probing: lengthen(to: Self.longestProbedWindow)
        case .lastLook: lengthen(to: Self.longestWindow)
        case .idle, .listening, .asking:
            calmCounts += 1
            if calmCounts >= Self.calmRun {
                calmCounts = 0
                window = max(window / 2, Self.shortestWindow)
                idleFactor = max(idleFactor / 2, 1)
            }
        }
        guard isWatching else {
            rest()
            return nil
        }
        phase = .listening
        heard = (frames, now)
        return count(at: now + calmPace)
    }

    private mutating func lengthen(to longest: Duration) {
        calmCounts = 0
        window = max(window, min(window * 2, longest))
    }

    /// Interval between reads.
    static let pace = Duration.milliseconds(50)
    /// Shortest window. At ten sent frames a second, two answers are missing by then.
    static let shortestWindow = Duration.milliseconds(250)
    /// Minimum number of sent frames without an answer before the gateway is probed.
    private static let unanswered: UInt64 = 3
    /// Number of gateway probes.
    static let probes = 5
    /// Interval of gateway probes.
    static let probeWait = Duration.milliseconds(50)
    private static let lastWait = Duration.milliseconds(60)
    /// Longest window after false alarms that a gateway probe resolved.
    private static let longestProbedWindow = Duration.seconds(1)
    /// Longest window after false alarms that only the scan resolved. With a longer one, the firmware detects losses
    /// faster.
    private static let longestWindow = Duration.seconds(4)
    /// Number of successive reads with received frames (five seconds) after which the window is halved.
    private static let calmRun = 100
    private static let patience = Duration.seconds(2)
    /// Maximum of `idleFactor`. It limits the checks to about one a minute for a gateway that never answers.
    private static let greatestIdleFactor = 128
}
