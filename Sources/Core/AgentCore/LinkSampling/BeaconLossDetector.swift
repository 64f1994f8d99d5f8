import AgentModel

/// Detects a silent access point before the kernel does, by beacons or else by received frames
/// (`ReceiveActivityDetector`).
package struct BeaconLossDetector: Sendable {
    package enum Event: Sendable {
        /// Total of sent frames. Send this event while `wantsFrames` is true, whenever the processor is awake.
        case framesSent(UInt64)
        case scan(isUnderWay: Bool)
        /// Answer to `SilenceReport.suspected`.
        case asked(isThere: Bool)
        /// Answer to `sample`; nil if there is none. Includes sent frames while `wantsFrames` is true.
        case sampled(StationInfo?, framesSent: UInt64?)
        /// Answer to `count`; nil if the interface is missing.
        case counted(LinkFrames?)
    }

    package enum Effect: Sendable, Equatable {
        /// Read the radio's counters at this time. With `asksGateway`, probe the gateway now.
        case sample(at: Instant, asksGateway: Bool = false)
        /// Read the interface's counters at this time. With `asksGateway`, probe the gateway now.
        case count(at: Instant, asksGateway: Bool)
        case report(SilenceReport)
    }

    private enum Phase {
        case watching
        case asking
        /// The access point did not answer. A last read of the counters confirms it.
        case unanswered
        case over
    }

    private var counts: BeaconCounts
    /// Fallback for radios that do not count beacons: watches received frames.
    private var answers: ReceiveActivityDetector?
    private var phase = Phase.watching
    private var isSampling = false

    /// Maximum interval between reads of sent frames.
    package static let trafficInterval = Duration.seconds(10)

    /// - Parameters:
    ///   - beacons: Number of missed beacons that mean silence.
    ///   - idlePace: Interval of reads while the device is idle and the radio does not scan; nil for none.
    package init(beacons: Int, idlePace: Duration? = nil) {
        counts = BeaconCounts(beacons: beacons, idlePace: idlePace)
    }

    package func wantsFrames(at now: Instant) -> Bool {
        phase != .over && (answers?.isCountDue(at: now) ?? counts.traffic.isCountDue(at: now))
    }

    package var isOver: Bool { phase == .over }

    package mutating func handle(_ event: Event, at now: Instant) -> Effect? {
        if answers != nil { return handleAnswers(event, at: now) }
        switch event {
        case .framesSent(let frames):
            guard !isSampling, phase == .watching else { return nil }
            counts.sent(frames, at: now)
            return plan()
        case .scan(let isUnderWay):
            // A scan that starts in another phase is the check itself.
            guard phase == .watching || !isUnderWay else { return nil }
            counts.scan(isUnderWay: isUnderWay, at: now)
            return isSampling ? nil : plan()
        case .asked(let isThere):
            guard phase == .asking else { return nil }
            if isThere {
                counts.startOver(at: now)
                phase = .watching
                return plan()
            }
            phase = .unanswered
            isSampling = true
            return .sample(at: now)
        case .sampled(let station, let frames): return sampled(station, frames, at: now)
        case .counted: return nil
        }
    }

    private mutating func handleAnswers(_ event: Event, at now: Instant) -> Effect? {
        guard phase != .over else { return nil }
        let effect = answers?.handle(event, at: now)
        if effect == .report(.confirmed) { phase = .over }
        return effect
    }

    private mutating func sampled(_ station: StationInfo?, _ frames: UInt64?, at now: Instant) -> Effect? {
        guard isSampling, phase == .watching || phase == .unanswered else { return nil }
        isSampling = false
        // Without an answer, the link has ended, which other events report, or the kernel is busy.
        switch (station.map { counts.sampled($0, at: now) }, phase) {
        case (.unknown, _):
            answers = ReceiveActivityDetector(following: counts.traffic, idlePace: counts.idlePace)
            phase = .watching
            return .report(.unknown)
        case (.silent, .unanswered):
            phase = .over
            return .report(.confirmed)
        case (.silent, _):
            phase = .asking
            return .report(.suspected)
        case (.quiet, _):
            phase = .watching
            return plan(asksGateway: true)
        case (nil, _): counts.startOver(at: now)
        case (.fine, _): break
        }
        if let frames { counts.sent(frames, at: now) }
        phase = .watching
        return plan()
    }

    private mutating func plan(asksGateway: Bool = false) -> Effect? {
        guard phase == .watching, let next = counts.next else { return nil }
        isSampling = true
        return .sample(at: next, asksGateway: asksGateway)
    }
}

/// Evaluates the radio's counters for an access point. It wakes the processor ten times a second while the device is
/// active. During scans, when mac80211's own monitoring pauses, it does so twice a second. An idle device is sampled at
/// `idlePace`. It sends too little to detect losses, so its gateway is probed when beacons are missing
/// (`Finding.quiet`).
struct BeaconCounts: Sendable {
    enum Finding {
        case fine
        /// No beacon, no acknowledgement, and lost frames. Not certain, because the access point may have left its
        /// channel for a moment.
        case silent
        /// No beacon, and too few sent frames for a result.
        case quiet
        case unknown
    }

    /// Interval of reads on an idle device; nil for none.
    let idlePace: Duration?
    /// Number of missed beacons that mean silence. Doubled during a scan.
    private let beacons: Int
    /// Last sign that the access point is there.
    private var heard: Heard?
    private(set) var traffic = TrafficMeter()
    /// Time of the next read; nil while not watching.
    private(set) var next: Instant?
    private var lastSample: Instant?

    private var scan = Scan.none
    /// Number of suspicions during scans. After each suspicion, this many scans are ignored, so that most scans
    /// complete.
    private var suspicionsInScans = 0
    private var scansToLeaveAlone = 0

    private struct Heard: Sendable {
        var beacons: UInt64
        var framesLost: UInt32
        var latest: Instant
        /// Number of gateway probes since the last sign of life.
        var asked = 0
        /// Whether a scan has started since the last sign of life. mac80211 does not count beacons while scanning, so
        /// acknowledgements count instead.
        var isDisturbed: Bool
    }

    private enum Scan {
        case none
        case watched
        case leftAlone
    }

    init(beacons: Int, idlePace: Duration? = nil) { (self.beacons, self.idlePace) = (beacons, idlePace) }

    // MARK: Activity of the device

    /// Handles the total of sent frames. Call this whenever the processor is awake.
    mutating func sent(_ frames: UInt64, at now: Instant) {
        guard traffic.sent(frames, at: now) || idlePace != nil else { return }
        begin(at: now)
        stopIfIdle()
    }

    private var isWatching: Bool { traffic.isInUse || scan == .watched || idlePace != nil }

    private var pace: Duration {
        if traffic.isInUse { return Self.pace }
        return scan == .none ? idlePace ?? Self.scanPace : Self.scanPace
    }

    private mutating func begin(at now: Instant) {
        if isWatching, next == nil { next = now }
    }

    private mutating func stopIfIdle() {
        guard !isWatching else { return }
        next = nil
        heard = nil
    }

    // MARK: Presence of the access point

    /// Evaluates the counters at `next`.
    mutating func sampled(_ station: StationInfo, at now: Instant) -> Finding {
        guard let count = station.beaconsReceived, let framesLost = station.transmitFailed,
            let inactive = station.inactive
        else {
            next = nil
            return .unknown
        }
        let pace = self.pace
        let before = lastSample
        let wasAway = before.map { now > $0 + max(Self.patience, pace * 2) } ?? false
        lastSample = now
        let interval = station.beaconInterval ?? Self.usualInterval
        guard scan != .leftAlone, !wasAway, let heard, heard.beacons == count, heard.framesLost <= framesLost,
            !heard.isDisturbed || inactive > pace
        else {
            let isDisturbed = scan != .none
            let latest =
                isDisturbed
                ? now - min(inactive, pace)
                : latestBeacon(of: count, since: wasAway ? nil : before, at: now, every: interval)
            heard = Heard(beacons: count, framesLost: framesLost, latest: latest, isDisturbed: isDisturbed)
            // If beacons are missing, the next read is as soon as silence can be detected.
            let isShort = latest < now && !isDisturbed
            let soon = max(now + interval, latest + silence(every: interval, false))
            next = isShort ? min(now + pace, soon) : now + pace
            stopIfIdle()
            return .fine
        }
        let silence = silence(every: interval, heard.isDisturbed)
        let due = heard.latest + silence
        next = now < due ? min(now + pace, due) : now + pace
        guard now >= due, inactive >= (heard.isDisturbed ? silence - Self.tolerance : interval) else {
            if inactive < interval, heard.asked > 0 { self.heard?.latest = now }
            stopIfIdle()
            return .fine
        }
        guard framesLost - heard.framesLost >= (heard.asked > 0 ? Self.answersLost : Self.framesLost) else {
            guard !traffic.isInUse, scan == .none, heard.asked < Self.mostAsked else {
                stopIfIdle()
                return .fine
            }
            self.heard?.asked += 1
            next = now + Self.askWait
            return .quiet
        }
        if scan == .watched {
            suspicionsInScans = min(suspicionsInScans + 1, Self.mostScansLeftAlone)
            scansToLeaveAlone = suspicionsInScans
        }
        return .silent
    }

    /// Time without beacons that means silence.
    private func silence(every interval: Duration, _ isDisturbed: Bool) -> Duration {
        interval * (isDisturbed ? 2 * beacons : beacons) + Self.tolerance
    }

    /// Latest possible time of the last beacon. On an idle device, several beacons arrive between two reads. If some
    /// are missing, the last ones are assumed lost.
    private func latestBeacon(
        of count: UInt64, since before: Instant?, at now: Instant, every interval: Duration
    ) -> Instant {
        guard !traffic.isInUse, let before, let heard, !heard.isDisturbed, count > heard.beacons,
            count - heard.beacons < Self.mostBeacons
        else { return now }
        let end = before + interval * (Int(count - heard.beacons) + 1)
        return now - end >= interval / 2 ? end : now
    }

    mutating func startOver(at now: Instant) {
        heard = nil
        if next != nil { next = now + Self.pace }
    }

    /// Handles the start or end of any scan. The radio leaves its channel for at most 0.125 s and returns for 0.2 s
    /// (mac80211, scan.c). Silence therefore takes twice as long to detect. An idle device is watched until the end of
    /// the scan, and for one more sample.
    mutating func scan(isUnderWay: Bool, at now: Instant) {
        guard isUnderWay else { return scan = .none }
        guard scan == .none else { return }
        heard?.isDisturbed = true
        scan = scansToLeaveAlone == 0 ? .watched : .leftAlone
        scansToLeaveAlone = max(0, scansToLeaveAlone - 1)
        begin(at: now)
    }

    /// Interval of reads on an active device, about one beacon interval.
    private static let pace = Duration.milliseconds(100)
    /// Interval on an idle device during scans. mac80211 sends acknowledged frames on channel changes (offchannel.c).
    private static let scanPace = Duration.milliseconds(500)
    /// Maximum number of gateway probes.
    private static let mostAsked = 7
    /// Wait after each gateway probe.
    private static let askWait = Duration.milliseconds(10)
    /// Number of lost probes that mean silence: more than for normal traffic, because probes follow each other quickly.
    private static let answersLost: UInt32 = 5
    /// Plausible maximum number of beacons between two reads.
    private static let mostBeacons: UInt64 = 10_000
    /// Maximum delay of a beacon on a busy channel.
    private static let tolerance = Duration.milliseconds(5)
    /// Number of lost frames that mean silence. Each was sent up to 8 times without an acknowledgement.
    private static let framesLost: UInt32 = 3
    private static let usualInterval = Duration.microseconds(102_400)
    private static let mostScansLeftAlone = 10
    /// Maximum age of counters. After a long gap, such as sleep, they are useless.
    private static let patience = Duration.seconds(2)
}
