import AgentModel

/// A configured server of the device: `broker` at `mqtts://mqtt.example.com:8883`.
public struct TargetSetting: Sendable, Equatable {
    /// Name of 1 to 32 letters, digits, `-` and `_`.
    public var name: String
    /// URL `SCHEME://HOST[:PORT]` with the scheme `tcp`, `tls`, `http`, `https`, `mqtt` or `mqtts`.
    public var url: String

    public init(name: String, url: String) { (self.name, self.url) = (name, url) }
}

/// The device's configured servers: answer to `targets.get` and `targets.update`. Their states are in
/// ``Connectivity/targets``.
public struct TargetList: Sendable, Equatable, Codable {
    /// Origin of the list.
    public enum Source: String, Sendable, CaseIterable, Codable {
        /// List from `ALTNET_TARGETS`.
        case settings
        /// List from `targets.update`.
        case app
    }

    public var max: Int
    public var source: Source
    /// Connectivity that a network must have. The device leaves a network below this level.
    public var required: ReachLevel
    public var targets: [TargetSetting]

    public init(
        max: Int = ProtocolLimits.targets, source: Source, required: ReachLevel, targets: [TargetSetting]
    ) {
        (self.max, self.source, self.required, self.targets) = (max, source, required, targets)
    }
}

/// Body of `targets.update`.
public enum TargetsUpdate: Sendable, Equatable {
    /// Replaces the servers until another update.
    case replace([TargetSetting])
    /// Restores the servers of the device's settings.
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
                    at: decoder.codingPath + [key], "must have \(length.lowerBound) to \(length.upperBound) bytes")
            }
            return text
        }
        self.init(
            name: try text(.name, ProtocolLimits.targetNameLength), url: try text(.url, ProtocolLimits.targetURLLength))
    }
}

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
