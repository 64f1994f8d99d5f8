/// A change on the device, sent as a line without a request.
public struct Event: Sendable, Equatable {
    /// Sequence number from 1 within one run of the agent.
    public let seq: Int
    public let time: Timestamp
    public let body: Body

    public init(seq: Int, time: Timestamp, body: Body) {
        self.seq = seq
        self.time = time
        self.body = body
    }

    /// The cases differ much in size, and many events are kept. So the bodies are stored indirectly.
    public indirect enum Body: Sendable, Equatable {
        case networkChanged(NetworkStatus)
        case signal(SignalReading)
        case scanFinished(ScanFinished)
        case backupsChanged(BackupList)
        case switchProgress(SwitchStatus)
        case decision(Decision)
        case targetChanged(TargetStatus)
        case portalRequest(PortalRequest)
        case portalEnded(PortalEnded)
        /// Some events are missing. `seq` is the number of the last missing one.
        case gap(Gap)
    }
}

extension Event.Body {
    public var name: String {
        switch self {
        case .networkChanged: "network.changed"
        case .signal: "signal"
        case .scanFinished: "scan.finished"
        case .backupsChanged: "backups.changed"
        case .switchProgress: "switch.progress"
        case .decision: "decision"
        case .targetChanged: "target.changed"
        case .portalRequest: "portal.request"
        case .portalEnded: "portal.ended"
        case .gap: "gap"
        }
    }
}

/// A report of missing events. The subscriber must read the state again.
public struct Gap: Sendable, Equatable, Codable {
    public let reason: Reason
    /// Number of missing events in this run of the agent.
    public let missed: Int

    public init(reason: Reason, missed: Int) {
        self.reason = reason
        self.missed = missed
    }

    /// Reason of the gap.
    public enum Reason: String, Sendable, CaseIterable, Codable {
        /// The subscriber asked too late or reads too slowly.
        case expired
        /// The agent was restarted, and its earlier events are lost.
        case restarted
    }
}

/// Position at which the events start: body of `events.subscribe`.
public struct EventSubscription: Sendable, Equatable {
    /// Number `seq` of the last event that the subscriber knows, 0 or more; nil for new events only.
    public let since: Int?
    /// Stream to which `since` belongs.
    public let stream: String?

    public init(since: Int? = nil, stream: String? = nil) {
        self.since = since
        self.stream = stream
    }
}

/// Answer to `events.subscribe`.
public struct Subscribed: Sendable, Equatable, Codable {
    /// Number `seq` of the newest event, 0 before the first.
    public let seq: Int
    /// ID of this run of the agent. Sequence numbers of different streams are not comparable.
    public let stream: String

    public init(seq: Int, stream: String) {
        self.seq = seq
        self.stream = stream
    }
}

extension Event {
    /// Returns the event as a line without line feed. A gap replaces an event that is too long.
    /// - Parameter names: replaces network hashes towards a relay.
    public func line(naming names: NetworkNames? = nil) -> [UInt8] {
        if let line = try? Line.encode(self, naming: names), line.count <= ProtocolLimits.lineLength { return line }
        let gap = Event(seq: seq, time: time, body: .gap(Gap(reason: .expired, missed: 1)))
        return (try? Line.encode(gap)) ?? []
    }
}

extension Event: Encodable {
    private enum CodingKeys: String, CodingKey {
        case v, event, seq, time, body
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ProtocolLimits.version, forKey: .v)
        try container.encode(body.name, forKey: .event)
        try container.encode(seq, forKey: .seq)
        try container.encode(time, forKey: .time)
        switch body {
        case .networkChanged(let body): try container.encode(body, forKey: .body)
        case .signal(let body): try container.encode(body, forKey: .body)
        case .scanFinished(let body): try container.encode(body, forKey: .body)
        case .backupsChanged(let body): try container.encode(body, forKey: .body)
        case .switchProgress(let body): try container.encode(body, forKey: .body)
        case .decision(let body): try container.encode(body, forKey: .body)
        case .targetChanged(let body): try container.encode(body, forKey: .body)
        case .portalRequest(let body): try container.encode(body, forKey: .body)
        case .portalEnded(let body): try container.encode(body, forKey: .body)
        case .gap(let body): try container.encode(body, forKey: .body)
        }
    }

    /// - Returns: nil for an unknown event.
    static func decode(from decoder: any Decoder) throws -> Event? {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func body<Value: Decodable>(_: Value.Type) throws -> Value { try container.decode(Value.self, forKey: .body) }
        let content: Body? =
            switch try container.decode(String.self, forKey: .event) {
            case "network.changed": .networkChanged(try body(NetworkStatus.self))
            case "signal": .signal(try body(SignalReading.self))
            case "scan.finished": .scanFinished(try body(ScanFinished.self))
            case "backups.changed": .backupsChanged(try body(BackupList.self))
            case "switch.progress": .switchProgress(try body(SwitchStatus.self))
            case "decision": .decision(try body(Decision.self))
            case "target.changed": .targetChanged(try body(TargetStatus.self))
            case "portal.request": .portalRequest(try body(PortalRequest.self))
            case "portal.ended": .portalEnded(try body(PortalEnded.self))
            case "gap": .gap(try body(Gap.self))
            default: nil
            }
        guard let content else { return nil }
        return Event(
            seq: try container.decode(Int.self, forKey: .seq),
            time: try container.decode(Timestamp.self, forKey: .time),
            body: content)
    }
}

extension EventSubscription: Codable {
    private enum CodingKeys: String, CodingKey {
        case since, stream
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let since = try container.decodeIfPresent(Int.self, forKey: .since)
        if let since, since < 0 {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.since], "must be 0 or the seq of an earlier event")
        }
        self.init(since: since, stream: try container.decodeIfPresent(String.self, forKey: .stream))
    }
}
