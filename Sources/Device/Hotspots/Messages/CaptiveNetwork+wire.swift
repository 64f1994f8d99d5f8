import AgentModel
import AppProtocol

extension CaptiveNetwork: Codable {
    private enum CodingKeys: String, CodingKey {
        case bssid, security, interface, signal, portal, probe, api
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ssid: try decoder.ssid(),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            security: try container.decode(Security.self, forKey: .security),
            interface: try container.decode(String.self, forKey: .interface),
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
        try container.encodeIfPresent(signal, forKey: .signal)
        try container.encodeIfPresent(portal, forKey: .portal)
        try container.encodeIfPresent(probe, forKey: .probe)
        try container.encodeIfPresent(api, forKey: .api)
    }
}

extension CaptiveNetwork.Probe: Codable {
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
            default: throw decoder.malformed("has either status or body")
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

extension CaptiveNetwork.API: Codable {
    private enum CodingKeys: String, CodingKey {
        case userPortal, venueInfo, canExtendSession, secondsRemaining, bytesRemaining
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            userPortal: try container.decodeIfPresent(String.self, forKey: .userPortal),
            venueInfo: try container.decodeIfPresent(String.self, forKey: .venueInfo),
            canExtendSession: try container.decodeIfPresent(Bool.self, forKey: .canExtendSession),
            secondsRemaining: try container.decodeIfPresent(Int.self, forKey: .secondsRemaining),
            bytesRemaining: try container.decodeIfPresent(Int.self, forKey: .bytesRemaining))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(userPortal, forKey: .userPortal)
        try container.encodeIfPresent(venueInfo, forKey: .venueInfo)
        try container.encodeIfPresent(canExtendSession, forKey: .canExtendSession)
        try container.encodeIfPresent(secondsRemaining, forKey: .secondsRemaining)
        try container.encodeIfPresent(bytesRemaining, forKey: .bytesRemaining)
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
