import AgentModel

/// Tells by what the device receives whether its access point is there, where the radio counts no beacons.
///
/// ```
/// idle <-> listening -> probing -> asking -> lastLook -> (silent)
///              ^           |         |          |
///              +-----------+---------+----------+      something was received, or the access point answered
/// ```
///
/// While the device sends, something comes back. Where nothing does for a while (`window`), the gateway is asked, by
/// frames to it alone, again and again: so a device that only sends is not suspected for long. If that brings nothing
/// either, the access point is asked (`SilenceReport.suspected`), by a scan of its channel. After each alarm that was
/// false the window is longer, and after some time without one shorter again.
///
/// An idle device looks seldom (`idlePace`), and where nothing came since its last look its gateway is asked at once.
struct AnswerWatch: Sendable {
    private enum Phase: Equatable {
        case idle
        case listening
        /// The gateway was asked so often.
        case probing(Int)
        /// The access point is being asked.
        case asking
        /// It did not answer: the counts are read, and a moment later read again.
        case lastLook(isSecond: Bool)
    }

    private var traffic: TrafficGauge
    private var phase = Phase.idle
    private var isScanning = false
    /// Whether the counts are to be read.
    private var isCounting = false
    /// The counts when something was received last, and when that was seen.
    private var heard: (frames: LinkFrames, at: Instant)?
    private var lastCount: Instant?
    /// Nothing received for so long is suspicious.
    private(set) var window = shortestWindow
    /// In a row in which something was received in time.
    private var calmCounts = 0

    /// How often the counts of an idle device are read; nil for not at all.
    private let idlePace: Duration?
    /// An idle device looks so many times less often.
    private var idleFactor = 1

    init(following traffic: TrafficGauge, idlePace: Duration? = nil) {
        (self.traffic, self.idlePace) = (traffic, idlePace)
    }

    private var isWatching: Bool { traffic.isInUse || idlePace != nil }

    /// Until the next look while all is well.
    private var calmPace: Duration {
        guard !traffic.isInUse, let idlePace else { return Self.pace }
        return idlePace * idleFactor
    }

    func isCountDue(at now: Instant) -> Bool { traffic.isCountDue(at: now) }

    mutating func handle(_ input: BeaconWatch.Input, at now: Instant) -> BeaconWatch.Step? {
        switch input {
        case .framesSent(let frames):
            _ = traffic.sent(frames, at: now)
            return begin(at: now)
        case .scan(let isUnderWay):
            // What begins and ends while the access point is asked is the question.
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

    /// During a scan the radio is away from its channel, and some can end none: its firmware watches the link
    /// meanwhile.
    private mutating func begin(at now: Instant) -> BeaconWatch.Step? {
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

    private mutating func count(at moment: Instant, asksGateway: Bool = false) -> BeaconWatch.Step {
        isCounting = true
        return .count(at: moment, asksGateway: asksGateway)
    }

    private mutating func counted(_ frames: LinkFrames, at now: Instant) -> BeaconWatch.Step? {
        _ = traffic.sent(frames.sent, at: now)
        // A watch that was away for longer, asleep or held up, knows nothing of what was meanwhile.
        let wasAway = lastCount.map { now > $0 + max(Self.patience, calmPace * 2) } ?? false
        lastCount = now
        if case .lastLook(isSecond: false) = phase {
            // The end of a scan is told in frames that some drivers count.
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

    private mutating func received(_ frames: LinkFrames, at now: Instant) -> BeaconWatch.Step? {
        switch phase {
        // Nothing is wrong with a device that hears only what it asks for; but it would ask often.
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

    /// Between two looks at the counts.
    static let pace = Duration.milliseconds(50)
    /// Of a device that sends the ten frames a second of one in use, two answers are missing then; three have to be.
    static let shortestWindow = Duration.milliseconds(250)
    private static let unanswered: UInt64 = 3
    /// The gateway is asked so often, at this interval.
    static let probes = 5
    static let probeWait = Duration.milliseconds(50)
    private static let lastWait = Duration.milliseconds(60)
    /// Where asking the gateway was enough to hear of it, and where it was not: by then firmware notices by itself.
    private static let longestProbedWindow = Duration.seconds(1)
    private static let longestWindow = Duration.seconds(4)
    /// Five seconds in which something was received all the time.
    private static let calmRun = 100
    private static let patience = Duration.seconds(2)
    /// A gateway that answers no frame is asked in vain, and an access point at each look: once in a minute at last.
    private static let greatestIdleFactor = 128
}
