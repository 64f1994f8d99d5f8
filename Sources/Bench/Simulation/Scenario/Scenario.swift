import AgentModel
import Failover

/// A place with access points, a device, and events: the input of a simulation.
///
/// Random values (shadowing, fading, lost frames) are functions of seed and time, so that all policies meet the same
/// signals and losses.
public struct Scenario: Sendable, Hashable {
    /// File name without extension, such as `power-cut`.
    public var name: String
    public var title: String
    /// Description and purpose, in a few sentences.
    public var about: String
    /// Length of one pass. A longer run repeats the scenario with other noise.
    public var duration: Duration
    public var radio = Radio()
    /// Whether the device sends 50 frames per second, so that the agent counts beacons.
    public var isBusy = false
    /// Time that a hotspot provider takes to sign in at a login page; nil without a provider.
    public var signInTime: Duration?
    /// Networks of the device, in the order of its list.
    public var networks: [Network] = []
    public var accessPoints: [AccessPoint] = []
    /// Initial position of the device, in metres.
    public var position = Point(x: 0, y: 0)
    public var settings = PolicySettings()
    /// Warnings about statements that the next version will not accept, one sentence each.
    public var warnings: [String] = []
    public var happenings: [Happening] = []

    public init(name: String, title: String, about: String, duration: Duration) {
        self.name = name
        self.title = title
        self.about = about
        self.duration = duration
    }

    /// Position in metres.
    public struct Point: Sendable, Hashable {
        public var x: Double
        public var y: Double

        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
    }

    public struct Radio: Sendable, Hashable {
        /// Number of channels of a full scan.
        public var channels: Int = 26
        /// Scan time per channel. Radios in the lab took about 80 ms without a link, 2 s for 26 channels. A full scan
        /// during a link takes three times as long, because the radio returns to the link's channel in between
        /// (Docs/contributor/testing.md).
        public var dwell = Duration.milliseconds(80)
        public var hasFiveGigahertz = true
        /// Number of simultaneous stations, 1 or 2, each on its own channel.
        public var stations = 1

        public init() {}
    }

    public struct Network: Sendable, Hashable {
        public var ssid: SSID
        public var isPreferred = false
        public var isHidden = false
        /// Password that the device has for the network; nil if open. An access point may have another password.
        public var password: String?

        public init(ssid: SSID, isPreferred: Bool = false, isHidden: Bool = false, password: String? = nil) {
            self.ssid = ssid
            self.isPreferred = isPreferred
            self.isHidden = isHidden
            self.password = password
        }
    }

    /// One radio of an access point.
    public struct AccessPoint: Sendable, Hashable {
        public var name: String
        public var ssid: SSID
        public var frequency: Frequency
        public var place: Placement
        public var password: String?
        public var isOn = true
        public var internet = Internet.online
        /// Time from the association to an address; nil if the access point gives out none.
        public var addressTime: Duration? = .milliseconds(300)
        public var isFull = false
        /// Standard deviation of slow signal changes, in dB.
        public var shadowing = 0.0
        /// Time after which slow signal changes reach a new value.
        public var shadowingTime = Duration.seconds(60)
        /// Maximum deviation of one measurement by fast signal changes, in dB.
        public var fading = 0.0

        public init(name: String, ssid: SSID, frequency: Frequency, place: Placement, password: String? = nil) {
            self.name = name
            self.ssid = ssid
            self.frequency = frequency
            self.place = place
            self.password = password
        }

        public enum Placement: Sendable, Hashable {
            /// Constant signal at the device, in dBm.
            case signal(Int)
            /// Position in metres, signal at one metre in dBm, and path loss exponent (2 in the open, 3 to 4 in
            /// houses).
            case position(Point, atOneMetre: Int, exponent: Double)
        }

        public enum Internet: String, Sendable, Hashable, CaseIterable {
            case online
            case captive
            case dead
        }
    }

    public struct Happening: Sendable, Hashable {
        public var at: Duration
        public var change: Change

        public init(at: Duration, _ change: Change) {
            self.at = at
            self.change = change
        }
    }

    public enum Change: Sendable, Hashable {
        case power(ap: String, isOn: Bool)
        /// Changes a constant signal linearly to this level in dBm.
        case signal(ap: String, Int, over: Duration)
        case internet(ap: String, AccessPoint.Internet)
        /// Changes the time to an address; nil if the access point gives out no more addresses.
        case address(ap: String, Duration?)
        case full(ap: String, Bool)
        case password(ap: String, String?)
        case newPassword(network: SSID, String?)
        case move(to: Point, over: Duration)
        /// Loss of this share of frames, 0 to 1, on these frequencies in MHz, for example by a microwave oven.
        case interference(ClosedRange<Int>, loss: Double, for: Duration)
        /// A switch that the app commands. If `confirmWithin` is set, the app confirms the switch after `confirmAfter`;
        /// nil for never.
        case command(network: SSID, confirmWithin: Duration?, confirmAfter: Duration?)
        /// This uplink carries the traffic instead of Wi-Fi; nil for Wi-Fi again.
        case otherUplink(Uplink?)
        case suspend(for: Duration)
        case supplicantDies(backAfter: Duration)
        /// The agent restarts with its stored state.
        case restart
    }
}
