import AgentModel

/// Body of `scan.start`.
public struct ScanRequest: Sendable, Equatable {
    /// SSIDs to probe for, which finds hidden networks. The list may be empty.
    public let ssids: [SSID]
    /// Frequencies to scan. An empty list means all channels, which takes seconds.
    public let frequencies: [Frequency]

    public init(ssids: [SSID] = [], frequencies: [Frequency] = []) {
        self.ssids = ssids
        self.frequencies = frequencies
    }
}

/// Answer to `scan.start`.
public struct ScanStarted: Sendable, Equatable, Codable {
    public let scanId: Int

    public init(scanId: Int) { self.scanId = scanId }
}

/// Body of `scan.finished`.
public struct ScanFinished: Sendable, Equatable, Codable {
    /// Scan ID from `scan.start`; nil for a scan that was not requested over this protocol.
    public let scanId: Int?
    public let outcome: Outcome
    /// Number of networks in range.
    public let networks: Int

    public init(scanId: Int?, outcome: Outcome, networks: Int) {
        self.scanId = scanId
        self.outcome = outcome
        self.networks = networks
    }

    /// Outcome of a scan.
    public enum Outcome: String, Sendable, CaseIterable, Codable {
        case finished
        /// Another program needed the radio.
        case aborted
        case failed
    }
}

/// Answer to `scan.get`. Each network has its newest measurement.
public struct ScanResults: Sendable, Equatable, Codable {
    public let isScanning: Bool
    /// ID of the last finished scan of this protocol.
    public let lastScanId: Int?
    /// Networks in range, strongest first.
    public let networks: [ScannedNetwork]
    /// Whether weaker networks were left out to fit the line.
    public let isTruncated: Bool

    public init(isScanning: Bool, lastScanId: Int?, networks: [ScannedNetwork], isTruncated: Bool = false) {
        self.isScanning = isScanning
        self.lastScanId = lastScanId
        self.networks = networks
        self.isTruncated = isTruncated
    }

    private enum CodingKeys: String, CodingKey {
        case isScanning = "scanning"
        case lastScanId, networks
        case isTruncated = "truncated"
    }
}

/// One access point in range.
public struct ScannedNetwork: Sendable, Equatable {
    public let bssid: BSSID
    /// SSID; nil if hidden.
    public let ssid: SSID?
    public let frequency: Frequency
    /// Signal in dBm.
    public let signal: Int
    /// Share of time in percent in which the channel is busy, as the access point says; nil if it does not say.
    public let load: Int?
    public let security: Security
    /// Age of the newest beacon or probe response in ms.
    public let ageMs: Int
    /// Names of the hotspot providers that claimed the network after a scan.
    public let providers: [String]
    /// Reason why the device does not join this access point of a stored network; nil otherwise.
    public let refusal: JoinFailure?

    public init(
        bssid: BSSID, ssid: SSID?, frequency: Frequency, signal: Int, load: Int? = nil, security: Security, ageMs: Int,
        providers: [String] = [], refusal: JoinFailure? = nil
    ) {
        self.bssid = bssid
        self.ssid = ssid
        self.frequency = frequency
        self.signal = signal
        self.load = load
        self.security = security
        self.ageMs = ageMs
        self.providers = providers
        self.refusal = refusal
    }

    public init(_ bss: BSS, now: Instant, providers: [String], refusal: JoinFailure?) {
        self.init(
            bssid: bss.bssid, ssid: bss.ssid, frequency: bss.frequency, signal: bss.signal,
            load: bss.channelUtilization.map { (Int($0) * 100 + 127) / 255 }, security: bss.security,
            ageMs: max(0, Int((now - bss.lastSeen).milliseconds)), providers: providers,
            refusal: refusal)
    }

    /// Quality from 0 to 100, computed from the signal.
    public var quality: Int { SignalQuality.percent(signal: signal) }
}

extension ScanRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case ssids, frequencies
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let ssids = try container.decodeIfPresent([WireSSID].self, forKey: .ssids) ?? []
        let megahertz = try container.decodeIfPresent([Int].self, forKey: .frequencies) ?? []
        for (count, key) in [(ssids.count, CodingKeys.ssids), (megahertz.count, .frequencies)]
        where count > ProtocolLimits.scanTargets {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [key], "has more than \(ProtocolLimits.scanTargets) entries")
        }
        self.init(
            ssids: ssids.map(\.ssid),
            frequencies: try megahertz.enumerated().map { index, number in
                guard let frequency = Frequency(wire: number) else {
                    throw ProtocolError.malformed(
                        at: decoder.codingPath + [CodingKeys.frequencies, ListIndex(index)], Frequency.complaint)
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
        case bssid, frequency, channel, signal, quality, load, security, ageMs, providers, refusal
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bssid: try container.decode(BSSID.self, forKey: .bssid),
            ssid: try decoder.ssidIfPresent(),
            frequency: try container.decode(Frequency.self, forKey: .frequency),
            signal: try container.decode(Int.self, forKey: .signal),
            load: try container.decodeIfPresent(Int.self, forKey: .load),
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
        try container.encodeIfPresent(load, forKey: .load)
        try container.encode(security, forKey: .security)
        try container.encode(ageMs, forKey: .ageMs)
        if !providers.isEmpty { try container.encode(providers, forKey: .providers) }
        try container.encodeIfPresent(refusal, forKey: .refusal)
    }
}
