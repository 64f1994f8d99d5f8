import Failover

/// Accumulates the result of a run. Records only the first pass in detail, so its size does not grow with the run.
struct Account {
    var result: RunResult
    private let isRecording: Bool
    /// Length of a pass in milliseconds.
    private let passLength: Int64
    private var settled: Int64 = 0
    /// Lost time so far, in milliseconds.
    private(set) var lost = 0.0
    private var last: (network: Int, accessPoint: Int)?
    private var stay: (accessPoint: Int, since: Int64)?
    private var outages: [Range<Int64>] = []
    private var timeline: Timeline
    private let burdens: BurdenTable?

    private static let decisionLimit = 10_000

    init(_ result: RunResult, world: World, isRecording: Bool, burdens: BurdenTable? = nil) {
        self.result = result
        self.burdens = burdens
        self.isRecording = isRecording
        passLength = world.passLength
        timeline = Timeline(duration: world.scenario.duration)
        guard isRecording else { return }
        timeline.signals = world.accessPoints.map(world.timelineSignal)
    }

    /// Adds the time up to `moment` to the result.
    /// - Parameters:
    ///   - accessPoint: access point over which the device was online; nil if offline.
    ///   - signedIn: whether a hotspot provider has signed the device in at this access point.
    mutating func settle(to moment: Int64, in world: World, online accessPoint: Int?, signedIn: Bool) {
        guard moment > settled else { return }
        defer { settled = moment }
        guard world.isInDemand(at: .milliseconds(settled)) else { return }
        let time = settled..<moment
        lost += accessPoint.map { world.lostTime(of: $0, in: time, signedIn: signedIn) } ?? Double(moment - settled)
        if let burdens, let accessPoint, settled < passLength {
            let burden = burdens.burden(
                of: accessPoint, in: settled..<min(moment, passLength), signedIn: signedIn)
            result.worse += burden.worse
            result.away += burden.away
        }
        guard isRecording, settled < passLength else { return }
        let seen = settled..<min(moment, passLength)
        let outages = accessPoint.map { world.outages(of: $0, in: seen, signedIn: signedIn) } ?? [seen]
        for outage in outages { add(outage) }
    }

    private mutating func add(_ outage: Range<Int64>) {
        if let previous = outages.last, previous.upperBound == outage.lowerBound {
            outages[outages.count - 1] = previous.lowerBound..<outage.upperBound
        } else {
            outages.append(outage)
        }
    }

    mutating func online(network: Int, accessPoint: Int, isPreferred: Bool, at moment: Int64) {
        if let last, last.network != network {
            result.switches += 1
            if isPreferred { result.returns += 1 }
        } else if let last, last.accessPoint != accessPoint {
            result.roams += 1
        }
        last = (network, accessPoint)
        stay = (accessPoint, moment)
    }

    mutating func offline(at moment: Int64) {
        defer { stay = nil }
        guard isRecording, let stay, stay.since < passLength, moment > stay.since else { return }
        timeline.stays.append(
            Timeline.Stay(
                time: .milliseconds(stay.since)..<(.milliseconds(min(moment, passLength))),
                accessPoint: stay.accessPoint))
    }

    mutating func scanned(from start: Int64, to end: Int64, isOnLink: Bool) {
        let time = Duration.milliseconds(end - start)
        result.scans += 1
        result.scanTime += time
        if isOnLink { result.scanTimeOnLink += time }
        guard isRecording, start < passLength else { return }
        timeline.scans.append(.milliseconds(start)..<(.milliseconds(min(end, passLength))))
    }

    mutating func record(_ decision: PolicyDecision, at moment: Int64) {
        guard isRecording, moment < passLength, timeline.decisions.count < Self.decisionLimit else { return }
        timeline.decisions.append(decision)
    }

    mutating func recordHappening(_ happening: Scenario.Happening, at moment: Int64) {
        guard isRecording, moment < passLength else { return }
        timeline.happenings.append(Timeline.Mark(at: .milliseconds(moment), text: happening.change.text))
    }

    /// Ends the run and returns its result. Call `settle` first.
    mutating func close(at moment: Int64) -> RunResult {
        offline(at: moment)
        result.duration = .milliseconds(moment)
        // Convert whole milliseconds separately: a double of seconds would lose digits in a long run.
        result.outage = .milliseconds(Int64(lost)) + .nanoseconds(Int64((lost - lost.rounded(.down)) * 1e6))
        guard isRecording else { return result }
        timeline.outages = outages.map { .milliseconds($0.lowerBound)..<(.milliseconds($0.upperBound)) }
        result.timeline = timeline
        return result
    }
}

extension World {
    /// Returns at most 1000 samples of the signal, at even intervals over a pass.
    fileprivate func timelineSignal(of accessPoint: Int) -> Timeline.Signal {
        let count = min(1000, passLength)
        let samples = (0..<count).map { index -> Double? in
            let moment = index * passLength / count
            let isOn = span(of: accessPoint, at: moment).state.isOn && tracks[accessPoint].isInReach
            return isOn ? signal(of: accessPoint, at: moment) : nil
        }
        let track = tracks[accessPoint]
        return Timeline.Signal(
            accessPoint: scenario.accessPoints[accessPoint].name, ssid: track.ssid, frequency: track.frequency,
            samples: samples)
    }
}
