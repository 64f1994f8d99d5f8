import AgentModel

extension DeviceName: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do { try self.init(text) } catch { throw decoder.malformed("\(error)") }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Body of `name.set`.
public struct DeviceNameChange: Sendable, Equatable {
    /// New name of the device; nil to delete the name.
    public let name: DeviceName?

    public init(name: DeviceName?) { self.name = name }
}

/// JSON of a change: `{"name":"Kitchen"}`, or `{"clear":true}`.
extension DeviceNameChange: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, clear
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decodeIfPresent(DeviceName.self, forKey: .name)
        let isCleared = try container.decodeIfPresent(Bool.self, forKey: .clear) ?? false
        guard (name == nil) == isCleared else {
            throw ProtocolError.malformed(
                at: decoder.codingPath + [CodingKeys.name],
                isCleared ? "and clear exclude each other" : "or clear is missing")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(name, forKey: .name)
        if name == nil { try container.encode(true, forKey: .clear) }
    }
}
