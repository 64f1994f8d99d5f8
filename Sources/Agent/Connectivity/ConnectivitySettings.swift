import AgentModel
import ConnectionMonitor
import OnlineValidation

/// What the device has to reach, and who is asked whether it does.
public struct ConnectivitySettings: Sendable {
    /// In the order of the settings.
    public var targets: [Target] = []
    public var keepAlive = KeepAlive()
    /// Nil where the maker set none.
    public var source: ValidationSource?
    /// A network that does not lead so far is left.
    public var required = ReachLevel.lan
    /// The socket of the host that runs hotspot providers; nil where nobody signs in.
    public var providersSocket: String?

    public init() {}
}
