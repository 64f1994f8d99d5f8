import AgentModel
import Failover

/// A place with access points, a device in it, and what happens there: what a simulation runs.
///
/// Everything random in it (shadowing, fading, lost frames) follows from a seed and the time alone, so that every
/// policy meets the same air.
public struct Scenario: Sendable, Hashable {
    /// The file's name without its ending: `power-cut`.
    public var name: String
    public var title: String
    /// The story and its purpose: some sentences.
    public var about: String
    /// How long one pass takes; a longer run repeats it with other noise.
    public var duration: Duration
    public var radio = Radio()
    /// Whether the device sends ten frames a second and more all the time, so that the agent counts beacons itself.
    public var isBusy = false
    /// What a hotspot provider on the device takes to sign in where there is a login page; nil where it has none.
    public var signInTime: Duration?
    /// Those that the device knows, in the order of its list.
    public var networks: [Network] = []
    public var accessPoints: [AccessPoint] = []
    /// The device's place at the beginning, in metres.
    public var position = Point(x: 0, y: 0)
    public var settings = PolicySettings()
    /// Statements that the next version will not read, one sentence each.
    public var warnings: [String] = []
    /// In the order of time.
    public var happenings: [Happening] = []

    public init(name: String, title: String, about: String, duration: Duration) {
        self.name = name
        self.title = title
        self.about = about
        self.duration = duration
    }

    /// In metres.
    public struct Point: Sendable, Hashable {
        public var x: Double
        public var y: Double

        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }
    }

    /// The device's radio.
    public struct Radio: Sendable, Hashable {
        /// All channels that a full scan looks at.
        public var channels: Int = 26
        /// Time for one channel of a scan: about 80 ms while nothing is joined (2 s for 26), and for a full scan on a
        /// living link three times that, for the radio returns to its own channel in between (measured,
        /// Docs/contributor/testing.md).
        public var dwell = Duration.milliseconds(80)
        public var hasFiveGigahertz = true
        /// Stations that it can be at once, each on a channel of its own: 1 or 2.
        public var stations = 1

        public init() {}
    }

    /// A network that the device knows.
    public struct Network: Sendable, Hashable {
        public var ssid: SSID
        public var isPreferred = false
        public var isHidden = false
        /// Nil for an open one. The device knows this one; an access point may have another.
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
        /// Its name in happenings.
        public var name: String
        public var ssid: SSID
        public var frequency: Frequency
        public var place: Place
        public var password: String?
        public var isOn = true
        public var internet = Internet.online
        /// Nil where no address is given out.
        public var addressTime: Duration? = .milliseconds(300)
        public var isFull = false
        /// Slow changes of the signal: the standard deviation in dB, and how long they take.
        public var shadowing = 0.0
        public var shadowingTime = Duration.seconds(60)
        /// Quick changes of the signal: the greatest deviation of one measurement in dB.
        public var fading = 0.0

        public init(name: String, ssid: SSID, frequency: Frequency, place: Place, password: String? = nil) {
            self.name = name
            self.ssid = ssid
            self.frequency = frequency
            self.place = place
            self.password = password
        }

        public enum Place: Sendable, Hashable {
            /// The device's signal wherever it is, in dBm.
            case signal(Int)
            /// In metres, with the signal at one metre in dBm and the path loss exponent (2 in the open, 3 to 4 in
            /// houses).
            case position(Point, atOneMetre: Int, exponent: Double)
        }

        public enum Internet: String, Sendable, Hashable, CaseIterable {
            case online
            case captive
            case dead
        }
    }

    /// Something that happens at a moment.
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
        /// The received signal of an access point that is placed by it goes to this, in dBm, at an even pace.
        case signal(ap: String, Int, over: Duration)
        case internet(ap: String, AccessPoint.Internet)
        /// Addresses are given out after this time from now on, or not at all.
        case address(ap: String, Duration?)
        case full(ap: String, Bool)
        /// The access point demands this password from now on.
        case password(ap: String, String?)
        /// The app tells the device the new password of a network it knows.
        case newPassword(network: SSID, String?)
        /// The device moves there, at an even pace.
        case move(to: Point, over: Duration)
        /// A share of the frames is lost on these frequencies, 0 to 1 (a microwave oven, a jammer).
        case interference(ClosedRange<Int>, loss: Double, for: Duration)
        /// A command of the app, which confirms after the given time if it is to be confirmed at all.
        case command(network: SSID, confirmWithin: Duration?, confirmAfter: Duration?)
        /// Another uplink carries the traffic; nil: not any more.
        case otherUplink(Uplink?)
        /// The device sleeps.
        case suspend(for: Duration)
        /// wpa_supplicant dies and is back after this time.
        case supplicantDies(backAfter: Duration)
        /// The agent is restarted, and knows only what is stored.
        case restart
    }
}
