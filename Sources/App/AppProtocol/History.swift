import AgentModel

/// How much of the past is asked for: the body of `history.get`.
public struct HistoryQuery: Sendable, Equatable {
    /// At most this many decisions, the newest ones: 1 to 200.
    public let limit: Int

    public init(limit: Int = ProtocolLimits.defaultHistoryDecisions) {
        self.limit = min(
            max(limit, ProtocolLimits.historyDecisions.lowerBound), ProtocolLimits.historyDecisions.upperBound)
    }
}

/// The last decisions, oldest first: the answer to `history.get`.
public struct History: Sendable, Equatable, Codable {
    public let decisions: [Decision]
    /// Whether older ones were left out so that the answer fits a line.
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

/// A decision of the device and its reason: an entry of the history and the body of `decision`.
public struct Decision: Sendable, Equatable, Codable {
    /// Counts decisions since the agent started.
    public let seq: Int
    public let time: Timestamp
    /// The moment on the device's monotonic clock in ms, which a set wall clock does not move.
    public let monotonicMs: Int64
    public let kind: Kind
    /// The network that the device left or stayed in.
    public let from: NetworkName?
    /// The network that it chose.
    public let to: NetworkName?
    public let reason: ReasonCode
    /// The same as a sentence.
    public let text: String
    /// The networks that were considered, best first.
    public let candidates: [Candidate]
    /// The name of the key of the app whose command it was.
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

    /// The kind of a decision. The set can grow: show an unknown one as it is.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// A network that was considered, as it was measured then.
    public struct Candidate: Sendable, Equatable {
        public let ssid: SSID
        public let bssid: BSSID?
        /// In dBm.
        public let signal: Int?
        public let frequency: Frequency?
        /// Why it was chosen or not, as a code.
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
    /// Nil for a network that is not stored.
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
