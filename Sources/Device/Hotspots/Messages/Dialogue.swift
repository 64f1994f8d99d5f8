import AppProtocol

/// A provider's question to a user: a web address, fields, or both.
public struct Dialogue: Sendable, Equatable {
    public var title: String
    public var message: String
    /// A page with `http` or `https` that the user may open instead of the fields.
    public var url: String?
    /// Fields to fill in; empty if the user only has to agree or to open the page.
    public var fields: [PortalRequest.Field] = []
}

extension Dialogue: Codable {
    private enum CodingKeys: String, CodingKey {
        case title, message, url, fields
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let url = try container.textIfPresent(forKey: .url, ofLength: 1...ProviderLimits.urlLength)
        guard url.map(Self.canBeOpened) ?? true else {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.url], "is not an http or https URL")
        }
        let fields = try container.decodeIfPresent([WireField].self, forKey: .fields) ?? []
        guard fields.count <= ProviderLimits.fields else {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.fields], "has more than \(ProviderLimits.fields) entries")
        }
        guard Set(fields.map(\.field.name)).count == fields.count else {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.fields], "has a name twice")
        }
        self.init(
            title: try container.text(forKey: .title, ofLength: 1...ProviderLimits.titleLength),
            message: try container.text(forKey: .message, ofLength: 0...ProviderLimits.messageLength),
            url: url, fields: fields.map(\.field))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(title, forKey: .title)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(url, forKey: .url)
        if !fields.isEmpty { try container.encode(fields.map(WireField.init), forKey: .fields) }
    }

    /// Accepts web pages only, because other URLs can start actions on a phone.
    private static func canBeOpened(_ url: String) -> Bool {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return (scheme == "http" || scheme == "https") && url.dropFirst(scheme.count).hasPrefix("://")
            && url.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

private struct WireField: Codable {
    let field: PortalRequest.Field

    private enum CodingKeys: String, CodingKey {
        case name, label, kind, required
    }

    init(_ field: PortalRequest.Field) { self.field = field }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard
            let kind = PortalRequest.Field.Kind(
                rawValue: try container.text(forKey: .kind, ofLength: 1...ProviderLimits.titleLength))
        else {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.kind], "is not text, password or checkbox")
        }
        field = PortalRequest.Field(
            name: try container.text(forKey: .name, ofLength: ProviderLimits.fieldNameLength),
            label: try container.text(forKey: .label, ofLength: 0...ProviderLimits.titleLength),
            kind: kind, isRequired: try container.decodeIfPresent(Bool.self, forKey: .required) ?? false)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(field.name, forKey: .name)
        try container.encode(field.label, forKey: .label)
        try container.encode(field.kind.rawValue, forKey: .kind)
        try container.encode(field.isRequired, forKey: .required)
    }
}
