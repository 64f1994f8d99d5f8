import AgentModel
import Failover

/// Result of one run of a scenario under one policy. Its size is independent of the run's length.
public struct RunResult: Sendable {
    public let scenario: String
    /// Name of the policy: `altnet`, or that of a model.
    public let policy: String
    public let seed: UInt64
    public var duration = Duration.zero
    /// Time without use: offline time, and the lost share of traffic on a bad link.
    public var outage = Duration.zero
    /// Weighted seconds of the first pass for `Measure`, if it was requested: with the additional utility of the best
    /// access point, 0 to 1, and away from the good preferred network. Only delivered traffic counts.
    public var worse = 0.0
    public var away = 0.0
    /// Number of switches to another network, and of those to the preferred one.
    public var switches = 0
    public var returns = 0
    public var roams = 0
    public var joins = 0
    public var failedJoins = 0
    public var scans = 0
    /// Air time of scans: total, and on a working link.
    public var scanTime = Duration.zero
    public var scanTimeOnLink = Duration.zero
    public var probes = 0
    /// Number of calls of the policy, each of which wakes a device's processor.
    public var events = 0
    public var committed = 0
    public var rolledBack = 0
    public var failed = 0
    /// Commands that the agent refused.
    public var refused = 0
    /// Timeline of the run; nil unless requested.
    public var timeline: Timeline?
}

public struct Timeline: Sendable {
    public let duration: Duration
    public var signals: [Signal] = []
    /// Access points in use, in order. Time without one is left out.
    public var stays: [Stay] = []
    public var outages: [Range<Duration>] = []
    public var scans: [Range<Duration>] = []
    public var decisions: [PolicyDecision] = []
    /// Events in words: `home1 loses power`.
    public var happenings: [Mark] = []

    public struct Signal: Sendable {
        public let accessPoint: String
        public let ssid: SSID
        public let frequency: Frequency
        /// Signals in dBm at even intervals over the pass, at most 1000; nil while the access point is off.
        public var samples: [Double?]
    }

    public struct Stay: Sendable, Hashable {
        /// Time at the access point, from the moment the device was online.
        public let time: Range<Duration>
        public let accessPoint: Int
    }

    public struct Mark: Sendable, Hashable {
        public let at: Duration
        public let text: String
    }
}

extension Scenario.Change {
    var text: String {
        switch self {
        case .power(let name, let isOn): isOn ? "\(name) has power" : "\(name) loses power"
        case .signal(let name, let level, let time):
            "\(name) goes to \(level) dBm\(time == .zero ? "" : " in \(time.inWords)")"
        case .internet(let name, .online): "\(name) has internet"
        case .internet(let name, .captive): "\(name) asks for a login"
        case .internet(let name, .dead): "\(name) loses its internet"
        case .address(let name, let time):
            time.map { "\(name) gives out addresses in \($0.inWords)" } ?? "\(name) gives out no addresses"
        case .full(let name, let isFull): isFull ? "\(name) is full" : "\(name) has room"
        case .password(let name, _): "\(name) has a new password"
        case .newPassword(let ssid, _): "the device is told the new password of \(ssid)"
        case .move(let point, let time):
            "the device moves to \(point.x.fixed(0)), \(point.y.fixed(0)) in \(time.inWords)"
        case .interference(let range, let loss, let time):
            "\(Int((loss * 100).rounded())) % lost on \(range.lowerBound)-\(range.upperBound) MHz for \(time.inWords)"
        case .command(let ssid, _, _): "command: \(ssid)"
        case .otherUplink(let uplink): uplink.map { "\($0.rawValue) carries the traffic" } ?? "only Wi-Fi is left"
        case .suspend(let time): "the device sleeps for \(time.inWords)"
        case .supplicantDies(let time): "wpa_supplicant dies, back after \(time.inWords)"
        case .restart: "the agent is restarted"
        }
    }
}
