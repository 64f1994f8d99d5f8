import AgentCore
import AgentModel
import Connectivity

/// Servers that the device must reach, and the source that validates internet access.
public struct ConnectivitySettings: Sendable {
    /// Servers in the order of the settings.
    public var targets: [Target] = []
    public var keepAlive = KeepAlive()
    /// Page that validates internet access; nil if the manufacturer set none.
    public var source: ValidationSource?
    var budget = QuestionBudget.Limits()
    /// Required level. The device leaves a network that does not reach it.
    public var required: ReachLevel { required(for: targets) ?? .lan }
    /// Level from the settings; nil to derive it from targets and source.
    public var setLevel: ReachLevel?
    /// Path of a PEM file with the authorities for targets with TLS and captive portal APIs; nil for the system's
    /// authorities.
    public var authorities: String?
    /// Path of the socket of the hotspot providers' host; nil for none.
    public var providersSocket: String?

    public init() {}

    /// Returns the required level for these targets. By default, a device with targets must reach its targets.
    /// - Returns: nil if these targets do not suffice to check the level in the settings.
    func required(for targets: [Target]) -> ReachLevel? {
        switch setLevel {
        case .target where targets.isEmpty: nil
        case .internet where targets.isEmpty && source == nil: nil
        case let level?: level
        case nil: targets.isEmpty ? source == nil ? .lan : .internet : .target
        }
    }
}
