import AgentModel
import AppProtocol

extension ProviderRequest {
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
    /// - Throws: `internalError` where it does not fit a line.
    public func line() throws(ProtocolError) -> [UInt8] {
        let line = try Line.encode(RequestEnvelope(id: id, content: .success(content)))
        guard line.count <= ProtocolLimits.lineLength else { throw .lineTooLong }
        return line
    }
}

/// The line of a request. Where only its content is wrong, the id is known and the answer can carry it.
private struct RequestEnvelope: Codable {
    let id: String
    let content: Result<ProviderRequest.Content, RejectedRequest>

    init(id: String, content: Result<ProviderRequest.Content, RejectedRequest>) {
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
            let error = ProtocolError(.malformed, "the line has a number that is out of range")
            content = .failure(RejectedRequest(id: id, error: error))
        }
    }

    private static func content(_ container: KeyedDecodingContainer<CodingKeys>) throws -> ProviderRequest.Content {
        guard try container.decode(Int.self, forKey: .v) == ProviderLimits.version else {
            throw ProtocolError(
                .unsupportedVersion, "this provider speaks version \(ProviderLimits.version) of the protocol",
                details: ["version": .number(ProviderLimits.version)])
        }
        guard let kind = ProviderRequest.Kind(rawValue: try container.decode(String.self, forKey: .type)) else {
            throw ProtocolError(.unknownType, "this provider does not know this type of request")
        }
        func body<Body: Decodable>(_: Body.Type) throws -> Body { try container.decode(Body.self, forKey: .body) }
        switch kind {
        case .hello: return .hello
        case .filterScanList: return .filterScanList(try body(ScanListBody.self).networks)
        case .evaluate: return .evaluate(try body(NetworkBody.self).network)
        case .authenticate: return .authenticate(try body(NetworkBody.self).network)
        case .answer: return .answer(try body(ValuesBody.self).values)
        case .maintain:
            let body = try body(NetworkBody.self)
            return .maintain(body.network, session: body.session)
        case .logoff:
            let body = try body(NetworkBody.self)
            return .logoff(body.network, session: body.session)
        }
    }

    func encode(to encoder: any Encoder) throws {
        let content = try content.get()
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ProviderLimits.version, forKey: .v)
        try container.encode(id, forKey: .id)
        try container.encode(content.kind.rawValue, forKey: .type)
        switch content {
        case .hello: break
        case .filterScanList(let networks): try container.encode(ScanListBody(networks: networks), forKey: .body)
        case .evaluate(let network), .authenticate(let network):
            try container.encode(NetworkBody(network: network, session: nil), forKey: .body)
        case .answer(let values): try container.encode(ValuesBody(values: values), forKey: .body)
        case .maintain(let network, let session), .logoff(let network, let session):
            try container.encode(NetworkBody(network: network, session: session), forKey: .body)
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
        session = try container.decodeIfPresent(String.self, forKey: .session).map { Secret(text: $0) }
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
        values = try container.decode([String: String].self, forKey: .values).mapValues { Secret(text: $0) }
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
