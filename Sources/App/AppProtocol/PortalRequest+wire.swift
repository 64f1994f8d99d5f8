import AgentModel

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

/// `values`, or `"cancel":true`.
extension PortalAnswer: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, values, cancel
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let values: [String: Secret]?
        do { values = try container.decodeIfPresent([String: Secret].self, forKey: .values) } catch is DecodingError {
            // Which of them is not text would be said by its name.
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.values], "is not an object of texts")
        }
        let cancels = try container.decodeIfPresent(Bool.self, forKey: .cancel) ?? false
        guard cancels == (values == nil) else {
            let complaint = cancels ? "and cancel exclude each other" : "or cancel is missing"
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.values], complaint)
        }
        self.init(
            id: try container.wholeNumber(forKey: .id),
            values: try values.map { try Self.checked($0, at: decoder.codingPath + [CodingKeys.values]) })
    }

    /// Names come from whoever sends: an error repeats none.
    private static func checked(
        _ values: [String: Secret], at path: [any CodingKey]
    ) throws(ProtocolError) -> [String: Secret] {
        guard values.count <= ProtocolLimits.portalFields else {
            throw .malformed(at: path, "has more than \(ProtocolLimits.portalFields) entries")
        }
        guard values.keys.allSatisfy({ ProtocolLimits.portalNameLength.contains($0.utf8.count) }) else {
            let most = ProtocolLimits.portalNameLength.upperBound
            throw .malformed(at: path, "has a name that does not have 1 to \(most) bytes")
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
