import AgentModel

/// Sign-in to a network, such as one with a captive portal (RFC 8908).
public struct Portal: Sendable, Equatable, Codable {
    public enum State: String, Sendable, CaseIterable, Codable {
        case inactive, evaluating, authenticating, presentingUI, authenticated, maintaining
    }

    /// URL of the page for the user; nil if the network does not name one.
    public var url: String?
    public var state: State
    /// The provider that claims the network; nil without one. If it is nil in the state `authenticated`, the network is
    /// used as it is.
    public var provider: String?
    /// Remaining seconds of the sign-in; nil if the network does not announce them.
    public var secondsRemaining: Int?
    /// Remaining bytes of the sign-in; nil if the network does not announce them.
    public var bytesRemaining: Int?

    public init(
        url: String? = nil, state: State = .inactive, provider: String? = nil, secondsRemaining: Int? = nil,
        bytesRemaining: Int? = nil
    ) {
        self.url = url
        self.state = state
        self.provider = provider
        self.secondsRemaining = secondsRemaining
        self.bytesRemaining = bytesRemaining
    }
}

/// State of a sign-in: answer to `portal.get` and `portal.answer`.
public struct PortalStatus: Sendable, Equatable, Codable {
    /// Hotspot sign-in; nil if its state is `inactive` and the network is not captive.
    public var portal: Portal?
    public var request: PortalRequest?
    /// Last failure to sign in, as text without secrets.
    public var problem: String?

    public init(portal: Portal? = nil, request: PortalRequest? = nil, problem: String? = nil) {
        self.portal = portal
        self.request = request
        self.problem = problem
    }
}

/// Body of `portal.ended`: the user need not answer the request any more.
public struct PortalEnded: Sendable, Equatable, Codable {
    public let id: Int

    public init(id: Int) { self.id = id }
}

/// A request for the user's sign-in data: body of `portal.request`.
public struct PortalRequest: Sendable, Equatable {
    /// An input field for the user.
    public struct Field: Sendable, Equatable, Codable {
        public enum Kind: String, Sendable, CaseIterable, Codable {
            case text, password, checkbox
        }

        /// Name of the field, and its key in the answer.
        public var name: String
        public var label: String
        public var kind: Kind
        public var isRequired: Bool

        private enum CodingKeys: String, CodingKey {
            case name, label, kind
            case isRequired = "required"
        }

        public init(name: String, label: String, kind: Kind, isRequired: Bool) {
            self.name = name
            self.label = label
            self.kind = kind
            self.isRequired = isRequired
        }
    }

    public var id: Int
    public var provider: String
    public var network: NetworkName
    public var title: String
    public var message: String
    /// URL of a page that the user may open instead. Without fields, the user finishes on this page.
    public var url: String?
    public var fields: [Field]

    public init(
        id: Int, provider: String, network: NetworkName, title: String, message: String, url: String? = nil,
        fields: [Field]
    ) {
        self.id = id
        self.provider = provider
        self.network = network
        self.title = title
        self.message = message
        self.url = url
        self.fields = fields
    }
}

/// The user's answer: body of `portal.answer`.
public struct PortalAnswer: Sendable, Equatable {
    public var id: Int
    /// Values by field name; nil if the user refuses.
    public var values: [String: Secret]?

    public init(id: Int, values: [String: Secret]?) {
        self.id = id
        self.values = values
    }
}

extension PortalRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, provider, title, message, url, fields
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(Int.self, forKey: .id),
            provider: try container.decode(String.self, forKey: .provider),
            network: try NetworkName(from: decoder),
            title: try container.decode(String.self, forKey: .title),
            message: try container.decode(String.self, forKey: .message),
            url: try container.decodeIfPresent(String.self, forKey: .url),
            fields: try container.decode([Field].self, forKey: .fields))
    }

    public func encode(to encoder: any Encoder) throws {
        try network.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(provider, forKey: .provider)
        try container.encode(title, forKey: .title)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(url, forKey: .url)
        try container.encode(fields, forKey: .fields)
    }
}

extension PortalAnswer: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, values, cancel
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let values: [String: Secret]?
        do { values = try container.decodeIfPresent([String: Secret].self, forKey: .values) } catch is DecodingError {
            // Hide the decoding error, which would repeat the field's name.
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.values], "is not an object of texts")
        }
        let cancels = try container.decodeIfPresent(Bool.self, forKey: .cancel) ?? false
        guard cancels == (values == nil) else {
            let complaint = cancels ? "and cancel exclude each other" : "or cancel is missing"
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.values], complaint)
        }
        self.init(
            id: try container.decode(Int.self, forKey: .id),
            values: try values.map { try Self.checked($0, at: decoder.codingPath + [CodingKeys.values]) })
    }

    /// Checks the sizes. Errors do not repeat names, because these come from the sender.
    private static func checked(
        _ values: [String: Secret], at path: [any CodingKey]
    ) throws(ProtocolError) -> [String: Secret] {
        guard values.count <= ProtocolLimits.portalFields else {
            throw .malformed(at: path, "has more than \(ProtocolLimits.portalFields) entries")
        }
        guard values.keys.allSatisfy({ ProtocolLimits.portalNameLength.contains($0.utf8.count) }) else {
            let most = ProtocolLimits.portalNameLength.upperBound
            throw .malformed(at: path, "has a name that is empty or longer than \(most) bytes")
        }
        guard values.values.allSatisfy({ $0.count <= ProtocolLimits.portalValueLength }) else {
            throw .malformed(at: path, "has a value of more than \(ProtocolLimits.portalValueLength) bytes")
        }
        return values
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        if let values {
            let texts = values.mapValues { $0.withBytes { String(decoding: $0, as: UTF8.self) } }
            try container.encode(texts, forKey: .values)
        } else {
            try container.encode(true, forKey: .cancel)
        }
    }
}

/// A program that signs the device in to hotspots.
public struct HotspotProvider: Sendable, Equatable, Codable {
    public var name: String
    public var isOn: Bool

    private enum CodingKeys: String, CodingKey {
        case name
        case isOn = "on"
    }

    public init(name: String, isOn: Bool) { (self.name, self.isOn) = (name, isOn) }
}

/// The device's providers: answer to `providers.get` and `providers.set`.
public struct HotspotProviders: Sendable, Equatable, Codable {
    public var providers: [HotspotProvider]

    public init(providers: [HotspotProvider]) { self.providers = providers }
}

/// Enables or disables a provider: body of `providers.set`.
public struct ProviderSwitch: Sendable, Equatable, Codable {
    public var provider: String
    public var isOn: Bool

    private enum CodingKeys: String, CodingKey {
        case provider
        case isOn = "on"
    }

    public init(provider: String, isOn: Bool) { (self.provider, self.isOn) = (provider, isOn) }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decode(String.self, forKey: .provider)
        guard ProtocolLimits.providerNameLength.contains(name.utf8.count) else {
            let most = ProtocolLimits.providerNameLength.upperBound
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.provider], "must have 1 to \(most) bytes")
        }
        self.init(provider: name, isOn: try container.decode(Bool.self, forKey: .isOn))
    }
}
