import AgentModel
import Failover

/// A place with access points, a device, and events: the input of a simulation.
///
/// All randomness (shadowing, fading, lost frames) is a function of seed and time, so that all policies meet the same
/// air.
public struct Scenario: Sendable, Hashable {
    /// File name without its extension: `power-cut`.
    public var name: String
    public var title: String
    /// Story and purpose in some sentences.
    public var about: String
    /// Length of one pass. A longer run repeats it with other noise.
    public var duration: Duration
    public var radio = Radio()
    /// Whether the device always sends at least ten frames per second, so that the agent counts beacons.
    public var isBusy = false
    /// Time for a hotspot provider on the device to sign in at a login page; nil without a provider.
    public var signInTime: Duration?
    /// Networks of the device, in the order of its list.
    public var networks: [Network] = []
    public var accessPoints: [AccessPoint] = []
    /// Initial position of the device, in metres.
    public var position = Point(x: 0, y: 0)
    public var settings = PolicySettings()
    /// Statements that the next version will not accept, one sentence each.
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
        /// Scan time per channel: about 80 ms without a link (2 s for 26). Three times that for a full scan on a link,
        /// as the radio returns to its channel in between (measured, Docs/contributor/testing.md).
        public var dwell = Duration.milliseconds(80)
        public var hasFiveGigahertz = true
        /// Simultaneous stations, each on its own channel: 1 or 2.
        public var stations = 1

        public init() {}
    }

    public struct Network: Sendable, Hashable {
        public var ssid: SSID
        public var isPreferred = false
        public var isHidden = false
        /// Password of the network; nil if open. An access point may have another password.
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
        /// Time to give out an address; nil if the network gives none.
        public var addressTime: Duration? = .milliseconds(300)
        public var isFull = false
        /// Slow signal changes: standard deviation in dB, and their duration.
        public var shadowing = 0.0
        public var shadowingTime = Duration.seconds(60)
        /// Quick signal changes: maximum deviation of one measurement in dB.
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
        /// Changes a constant signal to this level in dBm, at an even pace.
        case signal(ap: String, Int, over: Duration)
        case internet(ap: String, AccessPoint.Internet)
        /// Changes the time for an address; nil for no more addresses.
        case address(ap: String, Duration?)
        case full(ap: String, Bool)
        case password(ap: String, String?)
        case newPassword(network: SSID, String?)
        case move(to: Point, over: Duration)
        /// Loses this share of frames, 0 to 1, on these frequencies in MHz (a microwave oven, a jammer).
        case interference(ClosedRange<Int>, loss: Double, for: Duration)
        /// A command of the app, which confirms after `confirmAfter` if necessary.
        case command(network: SSID, confirmWithin: Duration?, confirmAfter: Duration?)
        /// Another uplink takes the traffic; nil to end that.
        case otherUplink(Uplink?)
        case suspend(for: Duration)
        case supplicantDies(backAfter: Duration)
        /// The agent restarts with its stored state.
        case restart
    }
}
