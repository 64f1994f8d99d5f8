import AgentModel

/// A switch to another network: body of `network.switch`.
public struct SwitchRequest: Sendable, Equatable {
    public let target: NetworkReference
    /// Seconds from the join until the device rolls back, unless `switch.confirm` arrives: 5 to 600; nil for never.
    public let confirmWithin: Int?
    /// Whether the device forgets the network when it leaves it or restarts.
    public let joinOnce: Bool
    /// Whether to switch Wi-Fi even if another uplink, such as a cable, carries the traffic.
    public let besideUplink: Bool

    public init(
        target: NetworkReference, confirmWithin: Int? = nil, joinOnce: Bool = false, besideUplink: Bool = false
    ) {
        self.target = target
        self.confirmWithin = confirmWithin
        self.joinOnce = joinOnce
        self.besideUplink = besideUplink
    }
}

/// Body of `switch.get` and `switch.confirm`.
public struct SwitchQuery: Sendable, Equatable, Codable {
    public let switchId: String

    public init(switchId: String) { self.switchId = switchId }
}

/// State of a switch: answer to `network.switch`, `switch.get` and `switch.confirm`, body of `switch.progress`.
public struct SwitchStatus: Sendable, Equatable, Codable {
    public let switchId: String
    public let phase: SwitchPhase
    /// Reason of a rollback or failure.
    public let reason: ReasonCode?
    /// Reason of a rollback or failure, as a sentence.
    public let text: String?
    /// The uplink that keeps the traffic during the switch; nil if the traffic moves with Wi-Fi.
    public let trafficOver: Uplink?

    public init(
        switchId: String, phase: SwitchPhase, reason: ReasonCode? = nil, text: String? = nil,
        trafficOver: Uplink? = nil
    ) {
        self.switchId = switchId
        self.phase = phase
        self.reason = reason
        self.text = text
        self.trafficOver = trafficOver
    }
}

/// Phases of a switch, in order; the last three are outcomes.
public enum SwitchPhase: String, Sendable, CaseIterable, Codable {
    /// The command is accepted, and the link is still up.
    case accepted
    case joining
    case waitingForAddress
    /// Address and route are present; the connectivity is being checked.
    case validating
    /// The device rolls back unless `switch.confirm` arrives over the new network.
    case waitingForConfirmation
    case committed
    case rolledBack
    /// Both networks failed; failover takes over.
    case failed

    public var isOutcome: Bool { self == .committed || self == .rolledBack || self == .failed }

    /// Whether a switch can move from `other` to this phase. Phases never go back, and outcomes are final.
    public func comes(after other: SwitchPhase) -> Bool {
        let order = Self.allCases
        return !other.isOutcome && order.firstIndex(of: self) ?? 0 > order.firstIndex(of: other) ?? 0
    }
}

/// A reason as a code for programs. Show unknown codes as they are, since new ones may be added.
public struct ReasonCode: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(_ failure: JoinFailure) { rawValue = failure.rawValue }
}

extension ReasonCode: CustomStringConvertible {
    public var description: String { rawValue }
}
