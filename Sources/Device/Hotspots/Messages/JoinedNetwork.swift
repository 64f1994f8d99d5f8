import AgentModel
import AppProtocol

/// A network that the device has joined: body of the requests from `evaluate` to `logoff`.
public struct JoinedNetwork: Sendable, Equatable {
    public var ssid: SSID
    public var bssid: BSSID?
    public var security: Security
    /// The Wi-Fi interface. A provider must bind its sockets to it.
    public var interface: String
    /// The network's own name servers, at most ``ProviderLimits/nameServers``. /etc/resolv.conf may list servers of
    /// another network.
    public var nameServers: [IPAddress]
    /// Signal in dBm.
    public var signal: Int?
    /// The URL that the network redirected the validation to.
    public var portal: String?
    /// A check for internet access that providers can use.
    public var probe: Probe?
    /// Answer of the captive portal API (RFC 8908).
    public var api: API?

    public struct Probe: Sendable, Equatable {
        public enum Expected: Sendable, Equatable {
            case status(Int)
            case body(String)
        }

        /// URL that begins with `http`.
        public var url: String
        public var expected: Expected

        public init(url: String, expected: Expected) {
            self.url = url
            self.expected = expected
        }
    }

    public struct API: Codable, Sendable, Equatable {
        /// Value of `user-portal-url`.
        public var userPortal: String?
        /// Value of `venue-info-url`.
        public var venueInfo: String?
        public var canExtendSession: Bool?
        public var secondsRemaining: Int?
        public var bytesRemaining: Int?

        public init(
            userPortal: String? = nil, venueInfo: String? = nil, canExtendSession: Bool? = nil,
            secondsRemaining: Int? = nil, bytesRemaining: Int? = nil
        ) {
            self.userPortal = userPortal.flatMap(JoinedNetwork.bounded)
            self.venueInfo = venueInfo.flatMap(JoinedNetwork.bounded)
            self.canExtendSession = canExtendSession
            self.secondsRemaining = secondsRemaining
            self.bytesRemaining = bytesRemaining
        }
    }

    /// Drops URLs longer than ``ProviderLimits/urlLength``, because they come from the network.
    public init(
        ssid: SSID, bssid: BSSID? = nil, security: Security, interface: String, nameServers: [IPAddress] = [],
        signal: Int? = nil, portal: String? = nil, probe: Probe? = nil, api: API? = nil
    ) {
        self.ssid = ssid
        self.bssid = bssid
        self.security = security
        self.interface = interface
        self.nameServers = Array(nameServers.prefix(ProviderLimits.nameServers))
        self.signal = signal
        self.portal = portal.flatMap(Self.bounded)
        self.probe = probe
        self.api = api
    }

    private static func bounded(_ url: String) -> String? {
        url.utf8.count <= ProviderLimits.urlLength ? url : nil
    }
}

/// A network in range: entry of `filterScanList`.
public struct ScannedHotspot: Sendable, Equatable {
    public var ssid: SSID
    public var bssid: BSSID
    /// Signal in dBm.
    public var signal: Int
    public var security: Security

    public init(ssid: SSID, bssid: BSSID, signal: Int, security: Security) {
        self.ssid = ssid
        self.bssid = bssid
        self.signal = signal
        self.security = security
    }
}

extension JoinedNetwork: Codable {
    private enum CodingKeys: String, CodingKey {
        case bssid, security, interface, nameServers, signal, portal, probe, api
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let nameServers = try container.decodeIfPresent([String].self, forKey: .nameServers) ?? []
        self.init(
            ssid: try decoder.ssid(),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            security: try container.decode(Security.self, forKey: .security),
            interface: try container.decode(String.self, forKey: .interface),
            nameServers: try nameServers.map { text in
                guard let address = IPAddress(text) else {
                    throw decoder.malformed("a name server must be an IP address")
                }
                return address
            },
            signal: try container.decodeIfPresent(Int.self, forKey: .signal),
            portal: try container.decodeIfPresent(String.self, forKey: .portal),
            probe: try container.decodeIfPresent(Probe.self, forKey: .probe),
            api: try container.decodeIfPresent(API.self, forKey: .api))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(bssid, forKey: .bssid)
        try container.encode(security, forKey: .security)
        try container.encode(interface, forKey: .interface)
        if !nameServers.isEmpty { try container.encode(nameServers.map(\.description), forKey: .nameServers) }
        try container.encodeIfPresent(signal, forKey: .signal)
        try container.encodeIfPresent(portal, forKey: .portal)
        try container.encodeIfPresent(probe, forKey: .probe)
        try container.encodeIfPresent(api, forKey: .api)
    }
}

extension JoinedNetwork.Probe: Codable {
    private enum CodingKeys: String, CodingKey {
        case url, status, body
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let status = try container.decodeIfPresent(Int.self, forKey: .status)
        let body = try container.decodeIfPresent(String.self, forKey: .body)
        let expected: Expected =
            switch (status, body) {
            case (let status?, nil): .status(status)
            case (nil, let body?): .body(body)
            default: throw decoder.malformed("must have either status or body")
            }
        self.init(url: try container.decode(String.self, forKey: .url), expected: expected)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url, forKey: .url)
        switch expected {
        case .status(let status): try container.encode(status, forKey: .status)
        case .body(let body): try container.encode(body, forKey: .body)
        }
    }
}

extension ScannedHotspot: Codable {
    private enum CodingKeys: String, CodingKey {
        case bssid, signal, security
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ssid: try decoder.ssid(),
            bssid: try container.decode(BSSID.self, forKey: .bssid),
            signal: try container.decode(Int.self, forKey: .signal),
            security: try container.decode(Security.self, forKey: .security))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bssid, forKey: .bssid)
        try container.encode(signal, forKey: .signal)
        try container.encode(security, forKey: .security)
    }
}
