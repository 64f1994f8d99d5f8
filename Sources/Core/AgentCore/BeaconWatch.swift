import AgentModel

/// Watches an access point: finds out sooner than the kernel does that it has fallen silent, and has it asked.
///
/// A value that decides: what is heard goes in, what is to be done comes out. Where the radio counts beacons it goes by
/// them, and else by what the device receives (`AnswerWatch`).
package struct BeaconWatch: Sendable {
    package enum Input: Sendable {
        /// The number of frames that the device has sent in all. To be told where `wantsFrames`, whenever the processor
        /// is awake.
        case framesSent(UInt64)
        /// A scan begins or ends, the agent's own or another program's.
        case scan(isUnderWay: Bool)
        /// The answer to `SilenceReport.suspected`.
        case asked(isThere: Bool)
        /// The answer to `sample`; nil where there is none. With the number of frames where `wantsFrames`.
        case sampled(StationInfo?, framesSent: UInt64?)
        /// The answer to `count`; nil where the interface is missing.
        case counted(LinkFrames?)
    }

    package enum Step: Sendable, Equatable {
        /// Read the radio's counts at this moment; with `asksGateway` have the gateway asked now.
        case sample(at: Instant, asksGateway: Bool = false)
        /// Read the interface's counts at this moment; with `asksGateway` have the gateway asked now.
        case count(at: Instant, asksGateway: Bool)
        case report(SilenceReport)
    }

    private enum Phase {
        case watching
        case asking
        /// It did not answer; a last look at the counts is to confirm that.
        case unanswered
        case over
    }

    private var counts: BeaconCounts
    /// What is gone by where the radio counts no beacons.
    private var answers: AnswerWatch?
    private var phase = Phase.watching
    /// Whether the counts are to be read, or are being read.
    private var isSampling = false

    /// The number of frames is looked at in this interval at the latest.
    package static let trafficInterval = Duration.seconds(10)

    /// - Parameters:
    ///   - beacons: after so many missing ones an access point is taken for silent.
    ///   - idlePace: the counts are read so often while the device sends little and the radio does not scan; nil for not at all.
    package init(beacons: Int, idlePace: Duration? = nil) {
        counts = BeaconCounts(beacons: beacons, idlePace: idlePace)
    }

    /// Whether the number of frames that the device has sent is of any use now.
    package func wantsFrames(at now: Instant) -> Bool {
        phase != .over && (answers?.isCountDue(at: now) ?? counts.traffic.isCountDue(at: now))
    }

    package var isOver: Bool { phase == .over }

    /// - Returns: what is to be done now; nil for nothing else than before.
    package mutating func handle(_ input: Input, at now: Instant) -> Step? {
        if answers != nil { return handleAnswers(input, at: now) }
        switch input {
        case .framesSent(let frames):
            guard !isSampling, phase == .watching else { return nil }
            counts.sent(frames, at: now)
            return plan()
        case .scan(let isUnderWay):
            // What begins while the access point is asked is the question.
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

    private mutating func handleAnswers(_ input: Input, at now: Instant) -> Step? {
        guard phase != .over else { return nil }
        let step = answers?.handle(input, at: now)
        if step == .report(.confirmed) { phase = .over }
        return step
    }

    private mutating func sampled(_ station: StationInfo?, _ frames: UInt64?, at now: Instant) -> Step? {
        guard isSampling, phase == .watching || phase == .unanswered else { return nil }
        isSampling = false
        // Without an answer the link has ended, which is told by others, or the kernel is busy.
        switch (station.map { counts.sampled($0, at: now) }, phase) {
        case (.untold, _):
            answers = AnswerWatch(following: counts.traffic, idlePace: counts.idlePace)
            phase = .watching
            return .report(.untold)
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

    private mutating func plan(asksGateway: Bool = false) -> Step? {
        guard phase == .watching, let next = counts.next else { return nil }
        isSampling = true
        return .sample(at: next, asksGateway: asksGateway)
    }
}

/// What the radio's counts say of an access point. It costs some wake-ups a second: ten while the device sends much, two while the
/// radio scans, for then the kernel's own watch rests, and else as many as the owner grants.
///
/// The frames of a device that sends much tell by themselves whether the access point is there. One that sends little is made to
/// speak where beacons are missing: its gateway is asked (`Finding.quiet`), and what counts is whether that was acknowledged.
struct BeaconCounts: Sendable {
    /// The meaning of a sample of the counts.
    enum Finding {
        case fine
        /// No beacon, nothing acknowledged, and frames lost in the end. Not a proof: the access point may look at
        /// another channel just now.
        case silent
        /// No beacon, and nothing sent that would tell more.
        case quiet
        /// The radio does not count what is needed.
        case untold
    }

    /// How often the counts of an idle device are read; nil for not at all.
    let idlePace: Duration?
    /// After so many missing beacons the access point is taken for silent, and after twice as many while there is a
    /// scan.
    private let beacons: Int
    /// When there was a sign of life last.
    private var heard: Heard?
    /// Whether the device sends much.
    private(set) var traffic = TrafficGauge()
    /// When the counts are wanted next; nil while nothing is watched.
    private(set) var next: Instant?
    /// When they were told last.
    private var lastSample: Instant?

    /// Whether a scan is under way, and what it is to the watch.
    private var scan = Scan.none
    /// How often a scan was suspected to hide silence. After each time so many scans are left alone, and most come to
    /// their end even where it is always wrong.
    private var suspicionsInScans = 0
    private var scansToLeaveAlone = 0

    private struct Heard: Sendable {
        var beacons: UInt64
        var framesLost: UInt32
        var latest: Instant
        /// So often the gateway was asked since.
        var asked = 0
        /// There was a scan since. mac80211 counts no beacons while it scans: acknowledgements are signs of life then.
        var isDisturbed: Bool
    }

    private enum Scan {
        case none
        case watched
        case leftAlone
    }

    init(beacons: Int, idlePace: Duration? = nil) { (self.beacons, self.idlePace) = (beacons, idlePace) }

    // MARK: Whether the device is in use

    /// Takes in how many frames the device has sent in all. To be called whenever the processor is awake.
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

    // MARK: Whether the access point is there

    /// Takes in the counts of the link, where `next` has come.
    mutating func sampled(_ station: StationInfo, at now: Instant) -> Finding {
        guard let count = station.beaconsReceived, let framesLost = station.transmitFailed,
            let inactive = station.inactive
        else {
            next = nil
            return .untold
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
            // Where beacons are missing, the next look is as soon as that can be told from silence.
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

    /// So long without a beacon is suspicious.
    private func silence(every interval: Duration, _ isDisturbed: Bool) -> Duration {
        interval * (isDisturbed ? 2 * beacons : beacons) + Self.tolerance
    }

    /// When the last beacon came at the latest. The counts of a device in use are read once an interval. Of an idle one they are
    /// read less often: where beacons are missing, it is taken that the first ones came.
    private func latestBeacon(
        of count: UInt64, since before: Instant?, at now: Instant, every interval: Duration
    ) -> Instant {
        guard !traffic.isInUse, let before, let heard, !heard.isDisturbed, count > heard.beacons,
            count - heard.beacons < Self.mostBeacons
        else { return now }
        let end = before + interval * (Int(count - heard.beacons) + 1)
        return now - end >= interval / 2 ? end : now
    }

    /// The earlier counts say nothing; counting begins anew.
    mutating func startOver(at now: Instant) {
        heard = nil
        if next != nil { next = now + Self.pace }
    }

    /// A scan begins or ends, our own or another program's. During it the radio is away from its channel for 0.125 s at
    /// most, and then back for 0.2 s (mac80211, scan.c): in twice the time it is there for as long as without.
    ///
    /// A device that is idle is watched until then, and for one sample more: the access point may be asked just now.
    mutating func scan(isUnderWay: Bool, at now: Instant) {
        guard isUnderWay else { return scan = .none }
        guard scan == .none else { return }
        heard?.isDisturbed = true
        scan = scansToLeaveAlone == 0 ? .watched : .leftAlone
        scansToLeaveAlone = max(0, scansToLeaveAlone - 1)
        begin(at: now)
    }

    /// About one beacon comes in that time.
    private static let pace = Duration.milliseconds(100)
    /// Of an idle device while the radio scans: whenever it leaves its channel and returns, mac80211 sends a frame that says so, which
    /// is acknowledged (offchannel.c).
    private static let scanPace = Duration.milliseconds(500)
    /// A device that sends little asks its gateway so often, and looks so long after that.
    private static let mostAsked = 7
    private static let askWait = Duration.milliseconds(10)
    /// Of what it asks in so short a time more have to be lost than of what a device sends anyway.
    private static let answersLost: UInt32 = 5
    /// More do not come between two looks.
    private static let mostBeacons: UInt64 = 10_000
    /// A beacon may be as late, where another station has the air.
    private static let tolerance = Duration.milliseconds(5)
    /// Each of them was sent up to 8 times, and none was acknowledged.
    private static let framesLost: UInt32 = 3
    private static let usualInterval = Duration.microseconds(102_400)
    private static let mostScansLeftAlone = 10
    /// A watch that was away for longer, asleep or held up, knows nothing of what was meanwhile.
    private static let patience = Duration.seconds(2)
}
