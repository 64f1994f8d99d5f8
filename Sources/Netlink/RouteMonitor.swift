import AgentModel
import EventLoop

/// Follows links, addresses and default routes through rtnetlink.
@AgentLoop
public final class RouteMonitor {
    /// By index.
    public var links: [Int: Link] { [:] }
    public var addresses: [Address] { [] }
    public var defaultRoutes: [DefaultRoute] { [] }
    public var uplink: ActiveUplink? { nil }

    /// Returns when everything has been read once; what that found is in the snapshot and no event.
    /// - Parameter onEvent: called for each change from then on, on the loop, after the snapshot has changed.
    public init(onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void) async throws(NetlinkError) {
        throw NetlinkError(attempted: "follow routes", reason: .malformed("not built yet"))
    }

    /// Sets an interface up or down. The change is an event.
    public func setLink(_ name: String, up: Bool) async throws(NetlinkError) {}
}
