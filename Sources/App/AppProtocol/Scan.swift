import AgentModel

/// What to look for: the body of `scan.start`.
public struct ScanRequest: Sendable, Equatable {
    /// Names to ask for, which finds hidden networks. Empty means only what is heard.
    public let ssids: [SSID]
    /// Where to look. Empty means every channel, which takes seconds.
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
        /// Somebody else needed the radio.
        case aborted
        case failed
    }
}

/// What is in range, each network with its newest measurement: the answer to `scan.get`.
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
