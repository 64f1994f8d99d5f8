import AgentModel

/// A value of the model that travels as one JSON string or number.
protocol WireScalar {
    associatedtype Wire: Codable

    /// - Returns: nil for what this type cannot be.
    init?(wire: Wire)
    var wire: Wire { get }

    /// Ends the sentence "FIELD ..." for a value that was refused.
    static var complaint: String { get }
}

extension WireScalar where Self: RawRepresentable<String> {
    init?(wire: String) { self.init(rawValue: wire) }
    var wire: String { rawValue }
}

extension BSSID: WireScalar {
    init?(wire: String) { self.init(wire) }
    var wire: String { description }
    static var complaint: String { "is not a BSSID such as 02:00:00:00:01:00" }
}

extension Frequency: WireScalar {
    init?(wire: Int) {
        guard (1...100_000).contains(wire) else { return nil }
        self.init(megahertz: wire)
    }
    var wire: Int { megahertz }
    static var complaint: String { "is not a frequency in MHz" }
}

extension Security: WireScalar {
    /// One that a newer device knows reads as `unknown`.
    init?(wire: String) { self = Security(rawValue: wire) ?? .unknown }
    static var complaint: String { "is not a security type" }
}

extension Uplink: WireScalar {
    init?(wire: String) { self = Uplink(rawValue: wire) ?? .other }
    static var complaint: String { "is not an uplink" }
}

extension JoinFailure: WireScalar {
    init?(wire: String) { self = JoinFailure(rawValue: wire) ?? .rejected }
    static var complaint: String { "is not a failure" }
}

extension Decoder {
    /// An error about the value being read, for what a type itself finds wrong.
    func malformed(_ complaint: String) -> ProtocolError { .malformed(at: codingPath, complaint) }
}

extension ProtocolError {
    static func malformed(at path: [any CodingKey], _ complaint: String) -> ProtocolError {
        let field = fieldName(path)
        return ProtocolError(.malformed, "\(field) \(complaint)", details: ["field": .text(field)])
    }

    /// `networks[1].ssid` for the path of coding keys to it.
    static func fieldName(_ path: [any CodingKey]) -> String {
        let name = path.reduce(into: "") { name, key in
            if let index = key.intValue {
                name += "[\(index)]"
            } else {
                name += name.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
        return name.isEmpty ? "the line" : name
    }
}

extension KeyedDecodingContainer {
    func decode<Value: WireScalar>(_ type: Value.Type, forKey key: Key) throws -> Value {
        guard let value = Value(wire: try decode(Value.Wire.self, forKey: key)) else {
            throw ProtocolError.malformed(at: codingPath + [key], Value.complaint)
        }
        return value
    }

    func decodeIfPresent<Value: WireScalar>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try decode(type, forKey: key)
    }
}

extension KeyedEncodingContainer {
    mutating func encode<Value: WireScalar>(_ value: Value, forKey key: Key) throws {
        try encode(value.wire, forKey: key)
    }

    mutating func encodeIfPresent<Value: WireScalar>(_ value: Value?, forKey key: Key) throws {
        try encodeIfPresent(value?.wire, forKey: key)
    }
}
