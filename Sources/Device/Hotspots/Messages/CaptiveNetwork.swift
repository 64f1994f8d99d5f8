import AgentModel

/// What is known of a network that wants somebody to sign in: the body of `evaluate`, `authenticate`, `maintain` and
/// `logoff`.
public struct CaptiveNetwork: Sendable, Equatable {
    public var ssid: SSID
    public var bssid: BSSID?
    public var security: Security
    /// The Wi-Fi interface, to which a provider binds what it sends.
    public var interface: String
    /// In dBm.
    public var signal: Int?
    /// Where the network redirected the validation to.
    public var portal: String?
    /// How a provider finds out by itself whether the network lets through.
    public var probe: Probe?
    /// What the network's captive portal API says (RFC 8908).
    public var api: API?

    public struct Probe: Sendable, Equatable {
        public enum Expected: Sendable, Equatable {
            case status(Int)
            case body(String)
        }

        /// With `http`.
        public var url: String
        public var expected: Expected

        public init(url: String, expected: Expected) {
            self.url = url
            self.expected = expected
        }
    }

    public struct API: Sendable, Equatable {
        /// Where a person signs in (`user-portal-url`).
        public var userPortal: String?
        /// Where more is said of the place (`venue-info-url`).
        public var venueInfo: String?
        public var canExtendSession: Bool?
        public var secondsRemaining: Int?
        public var bytesRemaining: Int?

        public init(
            userPortal: String? = nil, venueInfo: String? = nil, canExtendSession: Bool? = nil,
            secondsRemaining: Int? = nil, bytesRemaining: Int? = nil
        ) {
            self.userPortal = userPortal.flatMap(CaptiveNetwork.bounded)
            self.venueInfo = venueInfo.flatMap(CaptiveNetwork.bounded)
            self.canExtendSession = canExtendSession
            self.secondsRemaining = secondsRemaining
            self.bytesRemaining = bytesRemaining
        }
    }

    /// URLs longer than ``ProviderLimits/urlLength`` are left out: the network chose them.
    public init(
        ssid: SSID, bssid: BSSID? = nil, security: Security, interface: String, signal: Int? = nil,
        portal: String? = nil, probe: Probe? = nil, api: API? = nil
    ) {
        self.ssid = ssid
        self.bssid = bssid
        self.security = security
        self.interface = interface
        self.signal = signal
        self.portal = portal.flatMap(Self.bounded)
        self.probe = probe
        self.api = api
    }

    private static func bounded(_ url: String) -> String? {
        url.utf8.count <= ProviderLimits.urlLength ? url : nil
    }
}

/// A network in range, of which a provider is asked whether it may serve it: an entry of `filterScanList`.
public struct ScannedHotspot: Sendable, Equatable {
    public var ssid: SSID
    public var bssid: BSSID
    /// In dBm.
    public var signal: Int
    public var security: Security

    public init(ssid: SSID, bssid: BSSID, signal: Int, security: Security) {
        self.ssid = ssid
        self.bssid = bssid
        self.signal = signal
        self.security = security
    }
}
