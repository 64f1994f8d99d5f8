import AgentModel
import AppProtocol
import NIOCore

/// Signs in to captive networks through the providers that the host on `socket` runs.
public final class Hotspots: Sendable {
    /// - Parameters:
    ///   - socket: the path of the provider host's socket.
    ///   - group: whose event loops everything runs on.
    ///   - now: the clock that every limit is measured with.
    ///   - onChange: is told every change, on the event loop. It must not block.
    public init(
        socket: String, on group: any EventLoopGroup, settings: HotspotSettings = HotspotSettings(),
        now: @escaping @Sendable () -> Instant, onChange: @escaping @Sendable (HotspotStatus) -> Void
    ) {}

    /// How it stands, readable from every thread.
    public var status: HotspotStatus { HotspotStatus() }

    /// A probe found that the network wants somebody to sign in. Where a provider says that it has signed in, a probe that
    /// began after that and still finds this shows that it has not.
    public func captiveFound(_ network: CaptiveNetwork, name: NetworkName) {}

    /// A probe found that the network lets through.
    public func onlineFound() {}

    /// The network is not in use any more.
    public func networkLeft() {}

    /// What the person answered.
    public func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal) {}

    /// Asks every provider which of these it may serve, without any use of a network.
    /// - Returns: the providers' names, in order, by access point.
    public func filter(_ networks: [ScannedHotspot]) async -> [BSSID: [String]] { [:] }

    /// Ends every conversation; nothing is told after that.
    public func shutDown() async {}
}
