import AgentCore
import AgentModel
import Connectivity

/// The servers that the device has to reach, and the source that tells whether it reaches the internet.
public struct ConnectivitySettings: Sendable {
    /// In the order of the settings.
    public var targets: [Target] = []
    public var keepAlive = KeepAlive()
    /// Nil where the maker set none.
    public var source: ValidationSource?
    /// Limits of the questions that find out how far a network leads.
    var budget = QuestionBudget.Limits()
    /// A network that does not lead so far is left.
    public var required: ReachLevel { required(for: targets) ?? .lan }
    /// The same as it is set; nil where it follows from what there is to ask.
    public var setLevel: ReachLevel?
    /// A PEM file: who vouches for targets with TLS and for a network's captive portal API; nil for whom the system
    /// trusts.
    public var authorities: String?
    /// The socket of the host that runs hotspot providers; nil where there is none.
    public var providersSocket: String?

    public init() {}

    /// The level that a network must reach where these are the targets: the most important goal is that the device's
    /// own servers are reached.
    /// - Returns: nil where the level that is set leaves nothing to ask for it.
    func required(for targets: [Target]) -> ReachLevel? {
        switch setLevel {
        case .target where targets.isEmpty: nil
        case .internet where targets.isEmpty && source == nil: nil
        case let level?: level
        case nil: targets.isEmpty ? source == nil ? .lan : .internet : .target
        }
    }
}
