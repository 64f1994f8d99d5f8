import AgentModel

/// One of the device's own servers, as it is set: `broker` at `mqtts://mqtt.example.com:8883`.
public struct TargetSetting: Sendable, Equatable {
    /// 1 to 32 letters, digits, `-` and `_`.
    public var name: String
    /// `SCHEME://HOST:PORT` with one of `tcp`, `tls`, `http`, `https`, `mqtt`, `mqtts`.
    public var url: String

    public init(name: String, url: String) { (self.name, self.url) = (name, url) }
}

/// The device's own servers: the answer to `targets.get` and `targets.update`. How each of them stands is in
/// ``Connectivity/targets``.
public struct TargetList: Sendable, Equatable, Codable {
    /// Where the list comes from.
    public enum Source: String, Sendable, CaseIterable, Codable {
        /// The device's settings (`ALTNET_TARGETS`).
        case settings
        /// `targets.update`.
        case app
    }

    /// How many there may be.
    public var max: Int
    public var source: Source
    /// The level that a network must reach to be kept, with these servers.
    public var required: ReachLevel
    public var targets: [TargetSetting]

    public init(
        max: Int = ProtocolLimits.targets, source: Source, required: ReachLevel, targets: [TargetSetting]
    ) {
        (self.max, self.source, self.required, self.targets) = (max, source, required, targets)
    }
}

/// The body of `targets.update`.
public enum TargetsUpdate: Sendable, Equatable {
    /// These and no others, until another update.
    case replace([TargetSetting])
    /// Those of the device's settings again.
    case reset
}

extension TargetSetting: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, url
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys, _ length: ClosedRange<Int>) throws -> String {
            let text = try container.decode(String.self, forKey: key)
            guard length.contains(text.utf8.count) else {
                throw ProtocolError.malformed(
                    at: decoder.codingPath + [key], "has \(length.lowerBound) to \(length.upperBound) bytes")
            }
            return text
        }
        self.init(
            name: try text(.name, ProtocolLimits.targetNameLength), url: try text(.url, ProtocolLimits.targetURLLength))
    }
}

/// `targets`, or `"reset":true`.
extension TargetsUpdate: Codable {
    private enum CodingKeys: String, CodingKey {
        case targets, reset
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let targets = try container.decodeIfPresent([TargetSetting].self, forKey: .targets)
        let resets = try container.decodeIfPresent(Bool.self, forKey: .reset) ?? false
        let path = decoder.codingPath + [CodingKeys.targets]
        switch (targets, resets) {
        case (nil, true): self = .reset
        case (let targets?, false):
            guard targets.count <= ProtocolLimits.targets else {
                throw ProtocolError.malformed(at: path, "has more than \(ProtocolLimits.targets) entries")
            }
            self = .replace(targets)
        case (nil, false): throw ProtocolError.malformed(at: path, "or reset is missing")
        case (_, true): throw ProtocolError.malformed(at: path, "and reset exclude each other")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .replace(let targets): try container.encode(targets, forKey: .targets)
        case .reset: try container.encode(true, forKey: .reset)
        }
    }
}
