extension Event {
    /// The event as one line, without its line feed. One that does not fit is replaced by a gap, which is the truth.
    public func line() -> [UInt8] {
        if let line = try? Line.encode(self), line.count <= ProtocolLimits.lineLength { return line }
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

    /// Reads the members of an event's line.
    /// - Returns: nil for an event that this version does not know.
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
        let since = try container.wholeNumberIfPresent(forKey: .since)
        if let since, since < 0 {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.since], "is 0 or the seq of an event that came")
        }
        self.init(since: since, stream: try container.decodeIfPresent(String.self, forKey: .stream))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(since, forKey: .since)
        try container.encodeIfPresent(stream, forKey: .stream)
    }
}
