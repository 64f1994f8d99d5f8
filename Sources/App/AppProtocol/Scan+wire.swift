import AgentModel

extension ScanRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case ssids, frequencies
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let ssids = try container.decodeIfPresent([WireSSID].self, forKey: .ssids) ?? []
        let megahertz = try container.decodeIfPresent([WholeNumber].self, forKey: .frequencies) ?? []
        for (count, key) in [(ssids.count, CodingKeys.ssids), (megahertz.count, .frequencies)]
        where count > ProtocolLimits.scanTargets {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [key], "has more than \(ProtocolLimits.scanTargets) entries")
        }
        self.init(
            ssids: ssids.map(\.ssid),
            frequencies: try megahertz.enumerated().map { index, number in
                guard let frequency = Frequency(wire: number.value) else {
                    throw ProtocolError.malformed(
                        at: decoder.codingPath + [CodingKeys.frequencies, Place(index)], Frequency.complaint)
                }
                return frequency
            })
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !ssids.isEmpty { try container.encode(ssids.map(WireSSID.init), forKey: .ssids) }
        if !frequencies.isEmpty { try container.encode(frequencies.map(\.megahertz), forKey: .frequencies) }
    }
}

extension ScannedNetwork: Codable {
    private enum CodingKeys: String, CodingKey {
        case bssid, frequency, channel, signal, quality, security, ageMs, providers, refusal
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bssid: try container.decode(BSSID.self, forKey: .bssid),
            ssid: try decoder.ssidIfPresent(),
            frequency: try container.decode(Frequency.self, forKey: .frequency),
            signal: try container.decode(Int.self, forKey: .signal),
            security: try container.decode(Security.self, forKey: .security),
            ageMs: try container.decode(Int.self, forKey: .ageMs),
            providers: try container.decodeIfPresent([String].self, forKey: .providers) ?? [],
            refusal: try container.decodeIfPresent(JoinFailure.self, forKey: .refusal))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bssid, forKey: .bssid)
        try container.encode(frequency, forKey: .frequency)
        try container.encodeIfPresent(frequency.channel, forKey: .channel)
        try container.encode(signal, forKey: .signal)
        try container.encode(quality, forKey: .quality)
        try container.encode(security, forKey: .security)
        try container.encode(ageMs, forKey: .ageMs)
        if !providers.isEmpty { try container.encode(providers, forKey: .providers) }
        try container.encodeIfPresent(refusal, forKey: .refusal)
    }
}
