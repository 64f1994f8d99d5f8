import AgentModel

/// A stored network whose access points in range are all refused: entry of `refused` in `network.get`.
public struct RefusedNetwork: Sendable, Equatable {
    public let ssid: SSID
    /// Security that an access point with its name offers.
    public let security: Security
    /// Reason of the refusal: `lessSecure` or `unsupportedSecurity`.
    public let reason: JoinFailure
    /// Sentence with the cause and a remedy.
    public let remedy: String

    public init(ssid: SSID, security: Security, reason: JoinFailure, remedy: String) {
        (self.ssid, self.security, self.reason, self.remedy) = (ssid, security, reason, remedy)
    }
}

extension RefusedNetwork: Codable {
    private enum CodingKeys: String, CodingKey { case security, reason, remedy }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ssid: try decoder.ssid(),
            security: try container.decode(Security.self, forKey: .security),
            reason: try container.decode(JoinFailure.self, forKey: .reason),
            remedy: try container.decode(String.self, forKey: .remedy))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(security, forKey: .security)
        try container.encode(reason, forKey: .reason)
        try container.encode(remedy, forKey: .remedy)
    }
}
