import AgentModel

extension BackupNetwork: Codable {
    private enum CodingKeys: String, CodingKey {
        case hash, security, hidden, lastSeen, lastSignal, lastFailure
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ssid: try decoder.ssid(),
            hash: try container.decode(NetworkHash.self, forKey: .hash),
            security: try container.decode(Security.self, forKey: .security),
            isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false,
            lastSeen: try container.decodeIfPresent(Timestamp.self, forKey: .lastSeen),
            lastSignal: try container.decodeIfPresent(Int.self, forKey: .lastSignal),
            lastFailure: try container.decodeIfPresent(JoinFailure.self, forKey: .lastFailure))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(hash, forKey: .hash)
        try container.encode(security, forKey: .security)
        try container.encode(isHidden, forKey: .hidden)
        try container.encodeIfPresent(lastSeen, forKey: .lastSeen)
        try container.encodeIfPresent(lastSignal, forKey: .lastSignal)
        try container.encodeIfPresent(lastFailure, forKey: .lastFailure)
    }
}
