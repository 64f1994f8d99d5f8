import AgentModel

extension NetworkStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case state, network, uplink, carrier, flags, bssid, signal, quality, frequency, hash, addresses, since,
            connectivity, handover
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            state: try container.decode(LinkState.self, forKey: .state),
            uplink: try container.decodeIfPresent(Uplink.self, forKey: .uplink),
            carrier: try container.decodeIfPresent(Uplink.self, forKey: .carrier),
            flags: try container.decode(NetworkFlags.self, forKey: .flags),
            ssid: try decoder.ssidIfPresent(),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            signal: try container.decodeIfPresent(Int.self, forKey: .signal),
            frequency: try container.decodeIfPresent(Frequency.self, forKey: .frequency),
            hash: try container.decodeIfPresent(NetworkHash.self, forKey: .hash),
            addresses: try container.decodeIfPresent([String].self, forKey: .addresses) ?? [],
            since: try container.decode(Timestamp.self, forKey: .since),
            connectivity: try container.decodeIfPresent(Connectivity.self, forKey: .connectivity),
            handover: try container.decodeIfPresent(Handover.self, forKey: .handover))
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(uplink?.networkType, forKey: .network)
        try container.encodeIfPresent(uplink, forKey: .uplink)
        try container.encodeIfPresent(carrier, forKey: .carrier)
        try container.encode(flags, forKey: .flags)
        try container.encodeIfPresent(bssid, forKey: .bssid)
        try container.encodeIfPresent(signal, forKey: .signal)
        try container.encodeIfPresent(quality, forKey: .quality)
        try container.encodeIfPresent(frequency, forKey: .frequency)
        try container.encodeIfPresent(hash, forKey: .hash)
        try container.encode(addresses, forKey: .addresses)
        try container.encode(since, forKey: .since)
        try container.encodeIfPresent(connectivity, forKey: .connectivity)
        try container.encodeIfPresent(handover, forKey: .handover)
    }
}

extension Uplink {
    /// The number that app SDKs give this network type, where they have one.
    var networkType: Int? {
        switch self {
        case .wifi: 0
        case .wired: 1
        case .cellular: 2
        case .other: nil
        }
    }
}

extension SignalReading: Codable {
    private enum CodingKeys: String, CodingKey {
        case signal, quality, bssid, frequency
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            signal: try container.decode(Int.self, forKey: .signal),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            frequency: try container.decodeIfPresent(Frequency.self, forKey: .frequency))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(signal, forKey: .signal)
        try container.encode(quality, forKey: .quality)
        try container.encodeIfPresent(bssid, forKey: .bssid)
        try container.encodeIfPresent(frequency, forKey: .frequency)
    }
}
