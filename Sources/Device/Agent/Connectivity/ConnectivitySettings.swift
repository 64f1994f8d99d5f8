import AgentCore
import AgentModel
import Connectivity

/// Servers that the device must reach, and the source that validates internet access.
public struct ConnectivitySettings: Sendable {
    /// Servers in the order of the settings.
    public var targets: [Target] = []
    public var keepAlive = KeepAlive()
    /// Validation source; nil if the manufacturer set none.
    public var source: ValidationSource?
    var budget = QuestionBudget.Limits()
    /// The device leaves a network that does not reach this level.
    public var required: ReachLevel { required(for: targets) ?? .lan }
    /// Level from the settings; nil to derive it from targets and source.
    public var setLevel: ReachLevel?
    /// PEM file with authorities for targets with TLS and captive portal APIs; nil for the system's.
    public var authorities: String?
    /// Socket of the host for hotspot providers; nil without one.
    public var providersSocket: String?

    public init() {}

    /// Returns the required level for these targets: reaching the device's own servers has priority.
    /// - Returns: nil if the level in the settings cannot be checked with them.
    func required(for targets: [Target]) -> ReachLevel? {
        switch setLevel {
        case .target where targets.isEmpty: nil
        case .internet where targets.isEmpty && source == nil: nil
        case let level?: level
        case nil: targets.isEmpty ? source == nil ? .lan : .internet : .target
        }
    }
}
