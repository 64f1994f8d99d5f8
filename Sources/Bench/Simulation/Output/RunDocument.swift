import AgentModel
import Failover

/// Output of `altnet-lab simulate --json`: `{"results": [...]}`. Keys stay stable; later versions may add keys.
///
/// Times and durations are in seconds, signals in dBm. Network names are in altnet's display form, which is safe for
/// terminals.
public struct RunsDocument: Codable, Hashable, Sendable {
    public let results: [RunDocument]

    public init(_ results: [RunDocument]) { self.results = results }
}

public struct RunDocument: Codable, Hashable, Sendable {
    public let scenario: String
    public let policy: String
    /// Lowest seed of the runs.
    public let seed: UInt64
    public let runs: Int
    public let seconds: Double
    public let outageSeconds: Double
    public let outageSecondsPerDay: Double
    public let switches: Int
    public let returns: Int
    public let roams: Int
    public let joins: Int
    public let failedJoins: Int
    public let scans: Int
    public let scanSeconds: Double
    public let scanSecondsOnLink: Double
    /// Share of time in scans, 0 to 1.
    public let scanShare: Double
    public let probes: Int
    public let events: Int
    public let eventsPerHour: Double
    public let commands: Commands
    /// Present only for a single run of a single pass.
    public let timeline: TimelineDocument?

    public struct Commands: Codable, Hashable, Sendable {
        public let committed: Int
        public let rolledBack: Int
        public let failed: Int
        public let refused: Int
    }

    public init(_ totals: RunTotals, timeline: Timeline?) {
        let sum = totals.sum
        scenario = totals.scenario.printable
        policy = totals.policy
        seed = totals.seed
        runs = totals.runs
        seconds = sum.duration.inSeconds
        outageSeconds = sum.outage.inSeconds
        outageSecondsPerDay = totals.perDay(sum.outage.inSeconds)
        switches = sum.switches
        returns = sum.returns
        roams = sum.roams
        joins = sum.joins
        failedJoins = sum.failedJoins
        scans = sum.scans
        scanSeconds = sum.scanTime.inSeconds
        scanSecondsOnLink = sum.scanTimeOnLink.inSeconds
        scanShare = totals.share(sum.scanTime)
        probes = sum.probes
        events = sum.events
        eventsPerHour = totals.perDay(sum.events) / 24
        commands = Commands(
            committed: sum.committed, rolledBack: sum.rolledBack, failed: sum.failed, refused: sum.refused)
        self.timeline = timeline.map(TimelineDocument.init)
    }
}

public struct TimelineDocument: Codable, Hashable, Sendable {
    public let seconds: Double
    public let accessPoints: [AccessPoint]
    public let stays: [Stay]
    public let outages: [Span]
    public let scans: [Span]
    public let decisions: [Decision]
    public let happenings: [Happening]

    public struct AccessPoint: Codable, Hashable, Sendable {
        public let name: String
        public let ssid: String
        public let megahertz: Int
        /// Signals in dBm at even intervals over the pass; null while the access point is off.
        public let signal: [Double?]
    }

    public struct Span: Codable, Hashable, Sendable {
        public let from: Double
        public let to: Double
    }

    public struct Stay: Codable, Hashable, Sendable {
        public let from: Double
        public let to: Double
        /// Index in `accessPoints`, from 0.
        public let accessPoint: Int
    }

    public struct Decision: Codable, Hashable, Sendable {
        public let at: Double
        public let kind: String
        public let from: String?
        public let to: String?
        public let signal: Int?
        public let text: String
    }

    public struct Happening: Codable, Hashable, Sendable {
        public let at: Double
        public let text: String
    }

    init(_ timeline: Timeline) {
        seconds = timeline.duration.inSeconds
        accessPoints = timeline.signals.map { signal in
            AccessPoint(
                name: signal.accessPoint.printable, ssid: signal.ssid.description,
                megahertz: signal.frequency.megahertz,
                signal: signal.samples.indices.map { signal.sample($0).map { ($0 * 10).rounded() / 10 } })
        }
        stays = timeline.stays.map { stay in
            Stay(
                from: stay.time.lowerBound.inSeconds, to: stay.time.upperBound.inSeconds, accessPoint: stay.accessPoint)
        }
        outages = timeline.outages.map(Span.init)
        scans = timeline.scans.map(Span.init)
        decisions = timeline.decisions.map { decision in
            Decision(
                at: Double(decision.at.milliseconds) / 1000, kind: decision.kind.rawValue,
                from: decision.from?.description, to: decision.to?.description, signal: decision.signal,
                text: decision.text.printable)
        }
        happenings = timeline.happenings.map { Happening(at: $0.at.inSeconds, text: $0.text.printable) }
    }
}

extension TimelineDocument.Span {
    fileprivate init(_ time: Range<Duration>) {
        self.init(from: time.lowerBound.inSeconds, to: time.upperBound.inSeconds)
    }
}
