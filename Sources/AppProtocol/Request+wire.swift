/// A line that is no request, with as much as is needed to answer it.
public struct RejectedRequest: Error, Sendable, Equatable {
    /// Nil where the line was too broken to have one.
    public let id: String?
    public let error: ProtocolError

    public init(id: String?, error: ProtocolError) {
        self.id = id
        self.error = error
    }
}

extension Request {
    /// Reads one line, without its line feed.
    public init(line: some Collection<UInt8>) throws(RejectedRequest) {
        let envelope: RequestEnvelope
        do {
            envelope = try Line.decode(RequestEnvelope.self, from: line)
        } catch {
            throw RejectedRequest(id: nil, error: error)
        }
        self.init(id: envelope.id, content: try envelope.content.get())
    }

    /// The request as one line, without its line feed.
    public func line() throws(ProtocolError) -> [UInt8] {
        try Line.encode(RequestEnvelope(id: id, content: .success(content)))
    }
}

/// The line of a request. Where only its content is wrong, the id is known and the answer can carry it.
private struct RequestEnvelope: Codable {
    let id: String
    let content: Result<Request.Content, RejectedRequest>

    init(id: String, content: Result<Request.Content, RejectedRequest>) {
        self.id = id
        self.content = content
    }

    private enum CodingKeys: String, CodingKey {
        case v, id, type, body
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let id = try container.decode(String.self, forKey: .id)
        guard (1...ProtocolLimits.idLength).contains(id.utf8.count) else {
            throw ProtocolError.malformed(at: [CodingKeys.id], "has 1 to \(ProtocolLimits.idLength) bytes")
        }
        self.id = id
        do {
            content = .success(try Self.content(container))
        } catch let error as ProtocolError {
            content = .failure(RejectedRequest(id: id, error: error))
        } catch let error as DecodingError {
            content = .failure(RejectedRequest(id: id, error: ProtocolError(error)))
        } catch {
            // A number that does not fit its member is no DecodingError to every Foundation.
            let error = ProtocolError(.malformed, "the line has a number that is out of range")
            content = .failure(RejectedRequest(id: id, error: error))
        }
    }

    private static func content(_ container: KeyedDecodingContainer<CodingKeys>) throws -> Request.Content {
        let version = try container.decode(Int.self, forKey: .v)
        guard version == ProtocolLimits.version else {
            throw ProtocolError(
                .unsupportedVersion, "this device speaks version \(ProtocolLimits.version) of the protocol",
                details: ["version": .number(ProtocolLimits.version)])
        }
        guard let type = MessageType(rawValue: try container.decode(String.self, forKey: .type)) else {
            throw ProtocolError(.unknownType, "this device does not know this type of request")
        }
        func body<Body: Decodable>(_: Body.Type) throws -> Body { try container.decode(Body.self, forKey: .body) }
        func body<Body: Decodable>(otherwise standard: Body) throws -> Body {
            try container.decodeIfPresent(Body.self, forKey: .body) ?? standard
        }
        return switch type {
        case .getCapabilities: .device(.getCapabilities)
        case .getNetwork: .device(.getNetwork)
        case .getBackups: .device(.getBackups)
        case .updateBackups: .device(.updateBackups(try body(BackupsUpdate.self)))
        case .switchNetwork: .device(.switchNetwork(try body(SwitchRequest.self)))
        case .getSwitch: .device(.getSwitch(try body(SwitchQuery.self)))
        case .confirmSwitch: .device(.confirmSwitch(try body(SwitchQuery.self)))
        case .startScan: .device(.startScan(try body(otherwise: ScanRequest())))
        case .getScan: .device(.getScan)
        case .subscribe: .subscribe(try body(otherwise: EventSubscription()))
        case .getHistory: .device(.getHistory(try body(otherwise: HistoryQuery())))
        case .agreeKey: .device(.agreeKey)
        case .getDiagnosis: .device(.getDiagnosis)
        case .getPortal: .device(.getPortal)
        case .answerPortal: .device(.answerPortal(try body(PortalAnswer.self)))
        }
    }

    func encode(to encoder: any Encoder) throws {
        let content = try content.get()
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ProtocolLimits.version, forKey: .v)
        try container.encode(id, forKey: .id)
        try container.encode(Request(id: id, content: content).type.rawValue, forKey: .type)
        switch content {
        case .subscribe(let body): try container.encode(body, forKey: .body)
        case .device(.updateBackups(let body)): try container.encode(body, forKey: .body)
        case .device(.switchNetwork(let body)): try container.encode(body, forKey: .body)
        case .device(.getSwitch(let body)), .device(.confirmSwitch(let body)):
            try container.encode(body, forKey: .body)
        case .device(.startScan(let body)): try container.encode(body, forKey: .body)
        case .device(.getHistory(let body)): try container.encode(body, forKey: .body)
        case .device(.answerPortal(let body)): try container.encode(body, forKey: .body)
        case .device(.getCapabilities), .device(.getNetwork), .device(.getBackups), .device(.getScan),
            .device(.agreeKey), .device(.getDiagnosis), .device(.getPortal):
            break
        }
    }
}
