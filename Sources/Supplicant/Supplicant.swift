import AgentModel
import EventLoop

/// The running wpa_supplicant of one interface: joins and leaves networks, and reports what became of it.
///
/// It is driven through its control socket and decides nothing by itself: networks are only ever selected by `join`,
/// exist in its memory alone, and an old one goes when its successor has settled.
@AgentLoop
public final class Supplicant {
    /// - Parameters:
    ///   - controlSocket: the control socket of the interface, for example `/run/wpa_supplicant/wlan0`.
    ///   - onEvent: called on the loop, never from within a call to this object.
    public init(controlSocket: String, onEvent: @escaping @AgentLoop @Sendable (SupplicantEvent) -> Void) {}

    /// Connects, and connects again whenever wpa_supplicant was away. An existing link is left as it is.
    public func start() {}

    /// Lets go of wpa_supplicant. The link stays up.
    public func stop() {}

    /// Has wpa_supplicant join a network, and returns once it accepted the commands. The outcome is exactly one event with
    /// the same `attempt`: `connected` or `joinFailed`. A join still under way is given up without an event.
    public func join(_ request: JoinRequest, attempt: UInt64) async throws(SupplicantError) {}

    /// Ends the link, or the join under way, and forgets the network.
    public func leave() async throws(SupplicantError) {}

    /// What wpa_supplicant is doing now: at the start, to adopt the link of an earlier process.
    public func status() async throws(SupplicantError) -> SupplicantStatus { throw .unavailable }
}
