import AgentModel
import Failover

/// The result of one run of a scenario under one policy. Its size does not depend on the run's length.
public struct RunResult: Sendable {
    public let scenario: String
    /// `altnet`, or the name of the model.
    public let policy: String
    public let seed: UInt64
    /// How much time was simulated.
    public var duration = Duration.zero
    /// Time without use: none while offline, and on a bad link the share of traffic that got lost.
    public var outage = Duration.zero
    /// Seconds of the first pass, each weighed with the utility of the throughput that was to be had elsewhere, 0 to 1; and seconds
    /// of it away from the preferred network while that was good. Of what got through, where it was asked for (`Measure`).
    public var worse = 0.0
    public var away = 0.0
    /// Times that the device came online on another network than it was on before, and how many of these were returns
    /// to the preferred one.
    public var switches = 0
    public var returns = 0
    /// Times that it moved to another access point of its network.
    public var roams = 0
    public var joins = 0
    public var failedJoins = 0
    public var scans = 0
    /// Air time of scans: in all, and on a living link.
    public var scanTime = Duration.zero
    public var scanTimeOnLink = Duration.zero
    public var probes = 0
    /// How often the policy was called: what a device's processor is woken for.
    public var events = 0
    /// Commanded switches by their outcome.
    public var committed = 0
    public var rolledBack = 0
    public var failed = 0
    /// Commands that the agent did not take on.
    public var refused = 0
    /// Nil unless it was asked for.
    public var timeline: Timeline?

    public init(scenario: String, policy: String, seed: UInt64) {
        self.scenario = scenario
        self.policy = policy
        self.seed = seed
    }
}

/// One pass of a scenario, to look at.
public struct Timeline: Sendable {
    public let duration: Duration
    /// By access point, in the scenario's order.
    public var signals: [Signal] = []
    /// The device's access points, one after the other; times without any are left out.
    public var stays: [Stay] = []
    /// When nothing got through at all.
    public var outages: [Range<Duration>] = []
    /// When the radio scanned.
    public var scans: [Range<Duration>] = []
    public var decisions: [PolicyDecision] = []
    /// The events, in words: `home1 loses power`.
    public var happenings: [Note] = []

    public init(duration: Duration) { self.duration = duration }

    public struct Signal: Sendable {
        public let accessPoint: String
        public let ssid: SSID
        public let frequency: Frequency
        /// In dBm at even intervals over the whole pass; nil while it is off. At most 1000.
        public var samples: [Double?]

        public init(accessPoint: String, ssid: SSID, frequency: Frequency, samples: [Double?]) {
            self.accessPoint = accessPoint
            self.ssid = ssid
            self.frequency = frequency
            self.samples = samples
        }
    }

    public struct Stay: Sendable, Hashable {
        /// From the moment it was online.
        public let time: Range<Duration>
        /// Index in `signals`.
        public let accessPoint: Int

        public init(time: Range<Duration>, accessPoint: Int) {
            self.time = time
            self.accessPoint = accessPoint
        }
    }

    public struct Note: Sendable, Hashable {
        public let at: Duration
        public let text: String

        public init(at: Duration, text: String) {
            self.at = at
            self.text = text
        }
    }
}

extension Scenario.Change {
    /// The event, in a few words: `home1 loses power`.
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
