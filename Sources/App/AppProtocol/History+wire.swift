import AgentModel

extension HistoryQuery: Codable {
    private enum CodingKeys: String, CodingKey {
        case limit
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            limit: try container.wholeNumberIfPresent(forKey: .limit) ?? ProtocolLimits.defaultHistoryDecisions)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(limit, forKey: .limit)
    }
}

extension NetworkName: Codable {
    private enum CodingKeys: String, CodingKey {
        case hash
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(ssid: try decoder.ssid(), hash: try container.decodeIfPresent(NetworkHash.self, forKey: .hash))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(hash, forKey: .hash)
    }
}

extension Decision.Candidate: Codable {
    private enum CodingKeys: String, CodingKey {
        case bssid, signal, frequency, verdict
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            ssid: try decoder.ssid(),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            signal: try container.decodeIfPresent(Int.self, forKey: .signal),
            frequency: try container.decodeIfPresent(Frequency.self, forKey: .frequency),
            verdict: try container.decode(ReasonCode.self, forKey: .verdict))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(bssid, forKey: .bssid)
        try container.encodeIfPresent(signal, forKey: .signal)
        try container.encodeIfPresent(frequency, forKey: .frequency)
        try container.encode(verdict, forKey: .verdict)
    }
}
