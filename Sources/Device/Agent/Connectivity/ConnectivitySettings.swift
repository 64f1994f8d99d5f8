import AgentCore
import AgentModel
import Connectivity

/// What the device has to reach, and who is asked whether it does.
public struct ConnectivitySettings: Sendable {
    /// In the order of the settings.
    public var targets: [Target] = []
    public var keepAlive = KeepAlive()
    /// Nil where the maker set none.
    public var source: ValidationSource?
    /// What it may cost to find out how far a network leads.
    var budget = QuestionBudget.Limits()
    /// A network that does not lead so far is left.
    public var required = ReachLevel.lan
    /// A PEM file: who vouches for targets with TLS and for a network's captive portal API; nil for whom the system
    /// trusts.
    public var authorities: String?
    /// The socket of the host that runs hotspot providers; nil where there is none.
    public var providersSocket: String?

    public init() {}
}
