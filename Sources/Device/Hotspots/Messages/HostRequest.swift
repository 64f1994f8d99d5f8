import AppProtocol

/// The first line of a connection to the provider host.
public enum HostRequest: Sendable, Equatable {
    /// Lists the providers and closes the connection.
    case list
    /// Connects to this provider, which handles the rest of the connection.
    case open(provider: String)

    public init(line: some Collection<UInt8>) throws(ProtocolError) {
        self = try Line.decode(HostLine.self, from: line).request
    }

    public func line() throws(ProtocolError) -> [UInt8] { try Line.encode(HostLine(request: self)) }
}

/// The host's answer to `list`.
public struct ProviderList: Sendable, Equatable {
    /// Names in order, at most ``ProviderLimits/providers``.
    public let names: [String]

    /// - Parameter names: names of providers. Invalid ones are dropped.
    public init(names: [String]) {
        self.names = Array(
            Set(names.filter { ProviderLimits.isName($0) }).sorted().prefix(ProviderLimits.providers))
    }

    public init(line: some Collection<UInt8>) throws(ProviderFault) {
        let answer: ListLine
        do { answer = try Line.decode(ListLine.self, from: line) } catch { throw .garbage(error.message) }
        do { self.init(names: try answer.names.get()) } catch { throw .refused(error) }
    }

    public func line() throws(ProtocolError) -> [UInt8] { try Line.encode(ListLine(names: .success(names))) }
}

private struct HostLine: Codable {
    let request: HostRequest

    private enum CodingKeys: String, CodingKey {
        case v, type, provider
    }

    init(request: HostRequest) { self.request = request }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(Int.self, forKey: .v) == ProviderLimits.version else {
            throw ProtocolError(.unsupportedVersion, "this host speaks version \(ProviderLimits.version)")
        }
        switch try container.decode(String.self, forKey: .type) {
        case "list": request = .list
        case "open":
            let name = try container.decode(String.self, forKey: .provider)
            guard ProviderLimits.isName(name) else {
                throw ProtocolError.malformed(at: [CodingKeys.provider], "is not a provider's name")
            }
            request = .open(provider: name)
        default: throw ProtocolError(.unknownType, "this host does not know this type of request")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ProviderLimits.version, forKey: .v)
        switch request {
        case .list: try container.encode("list", forKey: .type)
        case .open(let provider):
            try container.encode("open", forKey: .type)
            try container.encode(provider, forKey: .provider)
        }
    }
}

private struct ListLine: Codable {
    let names: Result<[String], ProtocolError>

    private struct Body: Codable {
        let providers: [String]
    }

    private enum CodingKeys: String, CodingKey {
        case v, ok, body, error
    }

    init(names: Result<[String], ProtocolError>) { self.names = names }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(Int.self, forKey: .v) == ProviderLimits.version else {
            throw ProtocolError(.unsupportedVersion, "the host uses another version of the protocol")
        }
        names =
            try container.decode(Bool.self, forKey: .ok)
            ? .success(try container.decode(Body.self, forKey: .body).providers)
            : .failure(try container.decode(ProtocolError.self, forKey: .error))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ProviderLimits.version, forKey: .v)
        switch names {
        case .success(let names):
            try container.encode(true, forKey: .ok)
            try container.encode(Body(providers: names), forKey: .body)
        case .failure(let error):
            try container.encode(false, forKey: .ok)
            try container.encode(error, forKey: .error)
        }
    }
}
