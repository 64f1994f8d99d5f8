import AgentModel

/// The extent of a scan: the body of `scan.start`.
public struct ScanRequest: Sendable, Equatable {
    /// Names to ask for, which finds hidden networks. Empty means only what is heard.
    public let ssids: [SSID]
    /// Frequencies to scan. Empty means every channel, which takes seconds.
    public let frequencies: [Frequency]

    public init(ssids: [SSID] = [], frequencies: [Frequency] = []) {
        self.ssids = ssids
        self.frequencies = frequencies
    }
}

/// The answer to `scan.start`.
public struct ScanStarted: Sendable, Equatable, Codable {
    public let scanId: Int

    public init(scanId: Int) { self.scanId = scanId }
}

/// The body of `scan.finished`.
public struct ScanFinished: Sendable, Equatable, Codable {
    /// Nil where the scan was not asked for over this protocol.
    public let scanId: Int?
    public let outcome: Outcome
    /// How many networks are in range now.
    public let networks: Int

    public init(scanId: Int?, outcome: Outcome, networks: Int) {
        self.scanId = scanId
        self.outcome = outcome
        self.networks = networks
    }

    public enum Outcome: String, Sendable, CaseIterable, Codable {
        case finished
        /// Another program needed the radio.
        case aborted
        case failed
    }
}

/// The networks in range, each with its newest measurement: the answer to `scan.get`.
public struct ScanResults: Sendable, Equatable, Codable {
    /// Whether a scan is running now, so that newer results come.
    public let isScanning: Bool
    /// The last scan asked for over this protocol that has ended.
    public let lastScanId: Int?
    /// Strongest first.
    public let networks: [ScannedNetwork]
    /// Whether weaker networks were left out so that the answer fits a line.
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

/// One access point's network in range.
public struct ScannedNetwork: Sendable, Equatable {
    public let bssid: BSSID
    /// Nil where the access point hides its name.
    public let ssid: SSID?
    public let frequency: Frequency
    /// In dBm.
    public let signal: Int
    public let security: Security
    /// Time since the newest beacon or probe response, in ms.
    public let ageMs: Int
    /// The names of the hotspot providers that said after a scan that they may serve it. Empty where none has.
    public let providers: [String]
    /// Why the device does not join it although it bears the name of a stored network; nil for any other.
    public let refusal: JoinFailure?

    public init(
        bssid: BSSID, ssid: SSID?, frequency: Frequency, signal: Int, security: Security, ageMs: Int,
        providers: [String] = [], refusal: JoinFailure? = nil
    ) {
        self.bssid = bssid
        self.ssid = ssid
        self.frequency = frequency
        self.signal = signal
        self.security = security
        self.ageMs = ageMs
        self.providers = providers
        self.refusal = refusal
    }

    public init(_ bss: BSS, now: Instant, providers: [String], refusal: JoinFailure?) {
        self.init(
            bssid: bss.bssid, ssid: bss.ssid, frequency: bss.frequency, signal: bss.signal, security: bss.security,
            ageMs: max(0, Int((now - bss.lastSeen).milliseconds)), providers: providers,
            refusal: refusal)
    }

    /// 0 to 100, from the signal.
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
