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
        let line = try RequestLine<Content>(line)
        self.init(id: line.id, content: line.content)
    }

    /// The request as one line, without its line feed.
    public func line() throws(ProtocolError) -> [UInt8] { try RequestLine(id: id, content: content).encoded() }
}

extension Request.Content: RequestContent {
    package static var version: Int { ProtocolLimits.version }
    package static var reader: String { "device" }
    package var typeName: String { type.rawValue }

    package init(type: String, of line: KeyedDecodingContainer<RequestMember>) throws {
        guard let type = MessageType(rawValue: type) else { throw Self.unknownType() }
        func body<Body: Decodable>(_: Body.Type) throws -> Body { try line.decode(Body.self, forKey: .body) }
        func body<Body: Decodable>(otherwise standard: Body) throws -> Body {
            try line.decodeIfPresent(Body.self, forKey: .body) ?? standard
        }
        self =
            switch type {
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

    package func encodeBody(into line: inout KeyedEncodingContainer<RequestMember>) throws {
        switch self {
        case .subscribe(let body): try line.encode(body, forKey: .body)
        case .device(.updateBackups(let body)): try line.encode(body, forKey: .body)
        case .device(.switchNetwork(let body)): try line.encode(body, forKey: .body)
        case .device(.getSwitch(let body)), .device(.confirmSwitch(let body)): try line.encode(body, forKey: .body)
        case .device(.startScan(let body)): try line.encode(body, forKey: .body)
        case .device(.getHistory(let body)): try line.encode(body, forKey: .body)
        case .device(.answerPortal(let body)): try line.encode(body, forKey: .body)
        case .device(.getCapabilities), .device(.getNetwork), .device(.getBackups), .device(.getScan),
            .device(.agreeKey), .device(.getDiagnosis), .device(.getPortal):
            break
        }
    }
}
