import AgentModel
import AppProtocol

/// A request of the agent to a provider.
public struct ProviderRequest: Sendable, Equatable {
    /// The answer carries it back.
    public let id: String
    public let content: Content

    public init(id: String, content: Content) {
        self.id = id
        self.content = content
    }

    public enum Content: Sendable, Equatable {
        /// Comes first in every connection: whether this is a provider that speaks the protocol at all.
        case hello
        /// Asks which of these networks it may serve, without any use of a network.
        case filterScanList([ScannedHotspot])
        /// Whether it can sign in to this network, which the device has joined.
        case evaluate(CaptiveNetwork)
        case authenticate(CaptiveNetwork)
        /// The user's input, by the fields' names, after `uiRequired` in the same connection.
        case answer([String: Secret])
        /// Whether the device is still signed in, and what else keeps it so. With what the provider kept at its
        /// sign-in.
        case maintain(CaptiveNetwork, session: Secret?)
        case logoff(CaptiveNetwork, session: Secret?)
    }

    /// The names under which requests travel.
    public enum Kind: String, Sendable, CaseIterable {
        case hello, filterScanList, evaluate, authenticate, answer, maintain, logoff
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
        case .answer: .answer
        case .maintain: .maintain
        case .logoff: .logoff
        }
    }
}

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
    /// Its bytes as text, where they are UTF-8: to be handed on, and not to be kept.
    var text: String? { withBytes { String(validating: $0, as: UTF8.self) } }
}

/// The bounds that agent, host and providers keep to. A message that exceeds one is refused as a whole. Names, and what
/// a user is asked and answers, go on to apps, whose bounds hold for them.
public enum ProviderLimits {
    /// The protocol version spoken here: the `v` of every line.
    public static let version = 1
    /// The most providers that are looked at; those whose names come first.
    public static let providers = ProtocolLimits.providers
    /// The length of a provider's name in bytes: its file's, of letters, digits, `-`, `_` and `.`, which does not begin
    /// it.
    public static let nameLength = ProtocolLimits.providerNameLength
    /// The most networks in one `filterScanList`.
    public static let scannedNetworks = 128
    /// The most name servers of a network.
    public static let nameServers = 6
    /// The longest URL in bytes.
    public static let urlLength = ProtocolLimits.portalURLLength
    /// The longest title, label and reason, and the longest message, in bytes of UTF-8.
    public static let titleLength = ProtocolLimits.portalTitleLength
    public static let messageLength = ProtocolLimits.portalMessageLength
    /// The most fields that a user may be asked to fill in, and the longest name of one, in bytes of UTF-8.
    public static let fields = ProtocolLimits.portalFields
    public static let fieldNameLength = ProtocolLimits.portalNameLength
    /// The longest value that a user gives, in bytes of UTF-8.
    public static let valueLength = ProtocolLimits.portalValueLength
    /// The longest text that a provider may keep about a sign-in, in bytes of UTF-8.
    public static let sessionLength = 4096
    /// For how many seconds a provider may ask to be left alone. Another number reads as the nearest of these.
    public static let seconds = 1...86_400

    /// Whether a provider can be called this.
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
