import AgentModel
import AppProtocol

public struct ProviderRequest: Sendable, Equatable {
    /// Request ID, repeated in the answer.
    public let id: String
    public let content: Content

    public enum Content: Sendable, Equatable {
        /// The first request of every connection: checks that the provider speaks the protocol.
        case hello
        /// Asks which of these networks it may serve, without network access.
        case filterScanList([ScannedHotspot])
        /// Asks how sure the provider is that this network, which the device has joined, is its own.
        case evaluate(JoinedNetwork)
        case authenticate(JoinedNetwork)
        /// Asks for the web address or the dialogue for the user, after `uiRequired` in the same connection.
        case presentUI(JoinedNetwork)
        /// The user has finished: input by field name, in the same connection.
        case answer([String: Secret])
        /// Checks and prolongs the sign-in, using the provider's session data.
        case maintain(JoinedNetwork, session: Secret?)
        case logoff(JoinedNetwork, session: Secret?)
    }

    public enum Kind: String, Sendable, CaseIterable {
        case hello, filterScanList, evaluate, authenticate, presentUI, answer, maintain, logoff
    }

    public var kind: Kind { content.kind }
}

extension ProviderRequest.Content {
    public var kind: ProviderRequest.Kind {
        switch self {
        case .hello: .hello
        case .filterScanList: .filterScanList
        case .evaluate: .evaluate
        case .authenticate: .authenticate
        case .presentUI: .presentUI
        case .answer: .answer
        case .maintain: .maintain
        case .logoff: .logoff
        }
    }
}

extension ProviderRequest {
    public init(line: some Collection<UInt8>) throws(RejectedRequest) {
        let line = try RequestLine<Content>(line)
        self.init(id: line.id, content: line.content)
    }

    /// - Throws: `lineTooLong`.
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
        case .presentUI: self = .presentUI(try body(NetworkBody.self).network)
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
        case .evaluate(let network), .authenticate(let network), .presentUI(let network):
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
    let network: JoinedNetwork
    let session: Secret?

    private enum CodingKeys: String, CodingKey {
        case network, session
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

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(values.compactMapValues(\.text), forKey: .values)
    }
}

extension Secret {
    /// Text of the secret; nil if it is not UTF-8. Pass the text on, but do not store it.
    var text: String? { withBytes { String(validating: $0, as: UTF8.self) } }
}

/// Limits of messages between agent, host and providers. If one is exceeded, the whole message is refused.
public enum ProviderLimits {
    /// Value of `v` in every line.
    public static let version = 1
    /// Maximum number of providers. Further ones, in the order of their names, are ignored.
    public static let providers = ProtocolLimits.providers
    /// Length of a provider's name in bytes: its file name of letters, digits, `-`, `_` and `.`, without a leading dot.
    public static let nameLength = ProtocolLimits.providerNameLength
    /// Maximum number of networks in one `filterScanList`.
    public static let scannedNetworks = 128
    public static let nameServers = 6
    /// Maximum length of a URL in bytes.
    public static let urlLength = ProtocolLimits.portalURLLength
    /// Maximum bytes of titles, labels and reasons, and of messages, in UTF-8.
    public static let titleLength = ProtocolLimits.portalTitleLength
    public static let messageLength = ProtocolLimits.portalMessageLength
    /// Maximum number of fields for the user, and maximum bytes of a field's name in UTF-8.
    public static let fields = ProtocolLimits.portalFields
    public static let fieldNameLength = ProtocolLimits.portalNameLength
    /// Maximum bytes of a value from the user in UTF-8.
    public static let valueLength = ProtocolLimits.portalValueLength
    /// Maximum bytes of session data in UTF-8.
    public static let sessionLength = 4096
    /// Range of a provider's waiting times in seconds. Other values are clamped.
    public static let seconds = 1...86_400

    public static func isName(_ name: some StringProtocol) -> Bool {
        nameLength.contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
