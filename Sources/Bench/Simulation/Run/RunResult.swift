import AgentModel
import Failover

/// Result of one run of a scenario under one policy. Its size is independent of the run's length.
public struct RunResult: Sendable {
    public let scenario: String
    /// Name of the policy: `altnet`, or the name of a model.
    public let policy: String
    public let seed: UInt64
    public var duration = Duration.zero
    /// Lost time: offline time, and on a bad link the share of time equal to the share of lost traffic.
    public var outage = Duration.zero
    /// Sum of `BurdenTable.Burden.worse` over the first pass, in seconds; 0 unless requested.
    public var worse = 0.0
    /// Sum of `BurdenTable.Burden.away` over the first pass, in seconds; 0 unless requested.
    public var away = 0.0
    /// Number of switches to another network.
    public var switches = 0
    /// Number of switches to the preferred network.
    public var returns = 0
    public var roams = 0
    public var joins = 0
    public var failedJoins = 0
    public var scans = 0
    /// Total duration of scans.
    public var scanTime = Duration.zero
    /// Duration of scans during a link.
    public var scanTimeOnLink = Duration.zero
    public var probes = 0
    /// Number of recovery steps for the radio or the link.
    public var recoverySteps = 0
    /// Number of events for the policy. On a real device, each event wakes the processor.
    public var events = 0
    public var committed = 0
    public var rolledBack = 0
    public var failed = 0
    /// Number of commands that the agent refused.
    public var refused = 0
    /// Timeline of the run; nil unless requested.
    public var timeline: Timeline?
}

public struct Timeline: Sendable {
    public let duration: Duration
    public var signals: [Signal] = []
    /// Stays at access points, in order. Offline time is left out.
    public var stays: [Stay] = []
    public var outages: [Range<Duration>] = []
    public var scans: [Range<Duration>] = []
    public var decisions: [PolicyDecision] = []
    /// Events of the scenario in words, such as `home1 loses power`.
    public var happenings: [Mark] = []

    public struct Signal: Sendable {
        public let accessPoint: String
        public let ssid: SSID
        public let frequency: Frequency
        /// Signals in dBm at even intervals over the pass, at most 1000; nil while the access point is off.
        public var samples: [Double?]
    }

    public struct Stay: Sendable, Hashable {
        /// Time during which the device was online over the access point.
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
        case .newPassword(let ssid, _): "the device gets the new password of \(ssid)"
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
