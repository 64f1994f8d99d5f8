import AgentModel
import AppProtocol

extension ProviderRequest {
    /// Reads one line, without its line feed.
    public init(line: some Collection<UInt8>) throws(RejectedRequest) {
        let line = try RequestLine<Content>(line)
        self.init(id: line.id, content: line.content)
    }

    /// The request as one line, without its line feed.
    /// - Throws: `internalError` where it does not fit a line.
    public func line() throws(ProtocolError) -> [UInt8] {
        let line = try RequestLine(id: id, content: content).encoded()
        guard line.count <= ProtocolLimits.lineLength else { throw .lineTooLong }
        return line
    }
}

extension ProviderRequest.Content: RequestContent {
    package static var version: Int { ProviderLimits.version }
    package static var reader: String { "provider" }
    package var typeName: String { kind.rawValue }

    package init(type: String, of line: KeyedDecodingContainer<RequestMember>) throws {
        guard let kind = ProviderRequest.Kind(rawValue: type) else { throw Self.unknownType() }
        func body<Body: Decodable>(_: Body.Type) throws -> Body { try line.decode(Body.self, forKey: .body) }
        switch kind {
        case .hello: self = .hello
        case .filterScanList: self = .filterScanList(try body(ScanListBody.self).networks)
        case .evaluate: self = .evaluate(try body(NetworkBody.self).network)
        case .authenticate: self = .authenticate(try body(NetworkBody.self).network)
        case .answer: self = .answer(try body(ValuesBody.self).values)
        case .maintain:
            let body = try body(NetworkBody.self)
            self = .maintain(body.network, session: body.session)
        case .logoff:
            let body = try body(NetworkBody.self)
            self = .logoff(body.network, session: body.session)
        }
    }

    package func encodeBody(into line: inout KeyedEncodingContainer<RequestMember>) throws {
        switch self {
        case .hello: break
        case .filterScanList(let networks): try line.encode(ScanListBody(networks: networks), forKey: .body)
        case .evaluate(let network), .authenticate(let network):
            try line.encode(NetworkBody(network: network, session: nil), forKey: .body)
        case .answer(let values): try line.encode(ValuesBody(values: values), forKey: .body)
        case .maintain(let network, let session), .logoff(let network, let session):
            try line.encode(NetworkBody(network: network, session: session), forKey: .body)
        }
    }
}

private struct ScanListBody: Codable {
    let networks: [ScannedHotspot]
}

private struct NetworkBody: Codable {
    let network: CaptiveNetwork
    let session: Secret?

    private enum CodingKeys: String, CodingKey {
        case network, session
    }

    init(network: CaptiveNetwork, session: Secret?) {
        self.network = network
        self.session = session
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        network = try container.decode(CaptiveNetwork.self, forKey: .network)
        session = try container.decodeIfPresent(Secret.self, forKey: .session)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(network, forKey: .network)
        try container.encodeIfPresent(session?.text, forKey: .session)
    }
}

private struct ValuesBody: Codable {
    let values: [String: Secret]

    private enum CodingKeys: String, CodingKey {
        case values
    }

    init(values: [String: Secret]) { self.values = values }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        values = try container.decode([String: Secret].self, forKey: .values)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(values.compactMapValues(\.text), forKey: .values)
    }
}

extension Secret {
    /// Its bytes as text, where they are UTF-8: to be handed on, and not to be kept.
    var text: String? { withBytes { String(validating: $0, as: UTF8.self) } }
}
