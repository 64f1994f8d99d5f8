import AgentModel

/// A fault of the device's radio, and the recovery steps taken.
public struct RadioStatus: Sendable, Equatable {
    /// Fault: `scansRefused`, `mute`, `joinsFail`, `missing`, `blocked` (by rfkill) or `switchedOff` (hardware switch).
    /// Show unknown faults as they are, since new ones may be added.
    public let fault: String
    public let since: Timestamp
    /// Last recovery step: `abort`, `disconnect`, `cycleInterface`, `restartSupplicant`, `rebindDriver`, `tellOwner` or
    /// `reboot`; nil before the first.
    public let step: String?
    /// Whether rebinding the driver did not help, so that the device must be powered off and on.
    public let needsPowerCycle: Bool

    public init(fault: String, since: Timestamp, step: String? = nil, needsPowerCycle: Bool = false) {
        (self.fault, self.since, self.step, self.needsPowerCycle) = (fault, since, step, needsPowerCycle)
    }

    package init(_ block: RadioBlock, since: Timestamp) { self.init(fault: Self.name(of: block), since: since) }

    /// The rfkill block; nil for any other fault.
    package var block: RadioBlock? { [RadioBlock.soft, .hard].first { Self.name(of: $0) == fault } }

    private static func name(of block: RadioBlock) -> String {
        switch block {
        case .soft: "blocked"
        case .hard: "switchedOff"
        }
    }
}

extension RadioStatus: Codable {
    private enum CodingKeys: String, CodingKey { case fault, since, step, needsPowerCycle }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            fault: try container.decode(String.self, forKey: .fault),
            since: try container.decode(Timestamp.self, forKey: .since),
            step: try container.decodeIfPresent(String.self, forKey: .step),
            needsPowerCycle: try container.decodeIfPresent(Bool.self, forKey: .needsPowerCycle) ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(fault, forKey: .fault)
        try container.encode(since, forKey: .since)
        try container.encodeIfPresent(step, forKey: .step)
        if needsPowerCycle { try container.encode(true, forKey: .needsPowerCycle) }
    }
}
