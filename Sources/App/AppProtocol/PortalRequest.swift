import AgentModel

/// What a person is asked for so that the device can sign in: the body of `portal.request`.
public struct PortalRequest: Sendable, Equatable {
    public struct Field: Sendable, Equatable, Codable {
        public enum Kind: String, Sendable, CaseIterable, Codable {
            case text, password, checkbox
        }

        /// Names the answer.
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
    /// A page that the person may open instead.
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

/// What the person answered: the body of `portal.answer`.
public struct PortalAnswer: Sendable, Equatable {
    public var id: Int
    /// By the fields' names; nil: the person does not want to.
    public var values: [String: Secret]?

    public init(id: Int, values: [String: Secret]?) {
        self.id = id
        self.values = values
    }
}
