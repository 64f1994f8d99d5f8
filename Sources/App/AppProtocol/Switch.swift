import AgentModel

/// A switch to another network: the body of `network.switch`.
public struct SwitchRequest: Sendable, Equatable {
    public let target: NetworkReference
    /// In seconds. The switch stands only if `switch.confirm` comes that soon after the network is up; nil if it stands
    /// by itself.
    public let confirmWithin: Int?
    /// The device forgets the network when it leaves it or restarts, and is then at home where it was before.
    public let joinOnce: Bool
    /// Wi-Fi is to move also where another uplink, such as a cable, carries the traffic and goes on carrying it.
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

/// The switch that is meant: the body of `switch.get` and `switch.confirm`.
public struct SwitchQuery: Sendable, Equatable, Codable {
    public let switchId: String

    public init(switchId: String) { self.switchId = switchId }
}

/// How far a commanded switch has come: the answer to `network.switch`, `switch.get` and `switch.confirm`, the body of
/// `switch.progress`.
public struct SwitchStatus: Sendable, Equatable, Codable {
    public let switchId: String
    public let phase: SwitchPhase
    /// Why it was rolled back or failed.
    public let reason: ReasonCode?
    /// The same as a sentence.
    public let text: String?
    /// The uplink that carries the traffic, while Wi-Fi moves beside it; nil where the traffic moves with Wi-Fi.
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

/// The phases of a switch, in order; the last three are outcomes.
public enum SwitchPhase: String, Sendable, CaseIterable, Codable {
    /// The device will try; the link still stands.
    case accepted
    case joining
    case waitingForAddress
    /// Address and route are there; the device tries whether the network leads to what it needs.
    case validating
    /// The network is up, and `switch.confirm` has to come over it, or the device goes back.
    case waitingForConfirmation
    /// The device is on the new network.
    case committed
    /// The device is back on the network it came from.
    case rolledBack
    /// Neither the new network nor the old one could be joined; failover carries on from here.
    case failed

    public var isOutcome: Bool { self == .committed || self == .rolledBack || self == .failed }

    /// Whether a switch can go on from `other` to this one: it never goes back, nor from one outcome to another.
    public func comes(after other: SwitchPhase) -> Bool {
        let order = Self.allCases
        return !other.isOutcome && order.firstIndex(of: self) ?? 0 > order.firstIndex(of: other) ?? 0
    }
}

/// Why something happened, as a code that a program can compare. The set can grow: show an unknown one as it is.
public struct ReasonCode: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// A join that failed says how.
    public init(_ failure: JoinFailure) { rawValue = failure.rawValue }
}

extension ReasonCode: CustomStringConvertible {
    public var description: String { rawValue }
}
