import AgentModel

/// Body of `history.get`.
public struct HistoryQuery: Sendable, Equatable {
    /// Maximum number of decisions, 1 to 200. The newest are returned.
    public let limit: Int

    public init(limit: Int = ProtocolLimits.defaultHistoryDecisions) {
        self.limit = min(
            max(limit, ProtocolLimits.historyDecisions.lowerBound), ProtocolLimits.historyDecisions.upperBound)
    }
}

/// Decisions, oldest first: answer to `history.get`.
public struct History: Sendable, Equatable, Codable {
    public let decisions: [Decision]
    /// Whether older decisions were left out to fit the line.
    public let isTruncated: Bool

    public init(decisions: [Decision], isTruncated: Bool = false) {
        self.decisions = decisions
        self.isTruncated = isTruncated
    }

    private enum CodingKeys: String, CodingKey {
        case decisions
        case isTruncated = "truncated"
    }
}

/// Entry of the history, body of `decision`.
public struct Decision: Sendable, Equatable, Codable {
    /// Number of the decision, counted since the agent started.
    public let seq: Int
    public let time: Timestamp
    /// Time on the device's monotonic clock in ms.
    public let monotonicMs: Int64
    public let kind: Kind
    public let from: NetworkName?
    public let to: NetworkName?
    public let reason: ReasonCode
    /// Reason of the decision as a sentence.
    public let text: String
    /// The considered networks, best first.
    public let candidates: [Candidate]
    /// Key name of the app that gave the command; nil for the device's own decision.
    public let by: KeyName?

    public init(
        seq: Int, time: Timestamp, monotonicMs: Int64, kind: Kind, from: NetworkName?, to: NetworkName?,
        reason: ReasonCode, text: String, candidates: [Candidate] = [], by: KeyName? = nil
    ) {
        self.seq = seq
        self.time = time
        self.monotonicMs = monotonicMs
        self.kind = kind
        self.from = from
        self.to = to
        self.reason = reason
        self.text = text
        self.candidates = candidates
        self.by = by
    }

    /// Kind of a decision. Show unknown kinds as they are, since new ones may be added.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// A network that a decision considered.
    public struct Candidate: Sendable, Equatable {
        public let ssid: SSID
        public let bssid: BSSID?
        /// Signal in dBm; nil if unknown.
        public let signal: Int?
        public let frequency: Frequency?
        public let verdict: ReasonCode

        public init(ssid: SSID, bssid: BSSID?, signal: Int?, frequency: Frequency?, verdict: ReasonCode) {
            self.ssid = ssid
            self.bssid = bssid
            self.signal = signal
            self.frequency = frequency
            self.verdict = verdict
        }
    }
}

extension Decision.Kind: CustomStringConvertible {
    public var description: String { rawValue }
}

/// A network in a decision.
public struct NetworkName: Sendable, Equatable {
    public let ssid: SSID
    /// Hash of the network; nil if it is not stored.
    public let hash: NetworkHash?

    public init(ssid: SSID, hash: NetworkHash?) {
        self.ssid = ssid
        self.hash = hash
    }
}

extension HistoryQuery: Codable {
    private enum CodingKeys: String, CodingKey {
        case limit
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            limit: try container.decodeIfPresent(Int.self, forKey: .limit) ?? ProtocolLimits.defaultHistoryDecisions)
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
