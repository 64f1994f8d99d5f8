import AgentModel
import NIOCore

/// One interface's network: names are resolved and connections are made through it, whatever route the machine prefers.
public struct InterfaceNetwork: Sendable {
    /// Nil for the way that the machine prefers.
    public let interface: String?
    let group: any EventLoopGroup

    public init(interface: String?, on group: any EventLoopGroup) {
        self.interface = interface
        self.group = group
    }
}
