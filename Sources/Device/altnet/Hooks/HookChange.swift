import AgentModel
import AppProtocol

/// A change of the device's connection that runs the hooks.
enum HookChange: String, CaseIterable, Sendable {
    /// The device reaches what its settings require, and has checked that.
    case online
    case offline
    /// Another Wi-Fi network, or traffic over another uplink.
    case network
    case address
    /// A captive portal holds the device up, or no longer does.
    case portal

    /// Returns the changes between two states, in the order in which the hooks run.
    /// - Parameter old: the state before; nil at the start, when each part of the state counts as a change.
    static func changes(from old: NetworkStatus?, to new: NetworkStatus) -> [HookChange] {
        let now = new.isCheckedOnline
        let was = old?.isCheckedOnline ?? !now
        var changes: [HookChange] = was && !now ? [.offline] : []
        if old?.ssid != new.ssid || old?.carriedBy != new.carriedBy { changes.append(.network) }
        if Set(old?.addresses ?? []) != Set(new.addresses) { changes.append(.address) }
        if (old?.connectivity?.internet == .captive) != (new.connectivity?.internet == .captive) {
            changes.append(.portal)
        }
        return changes + (!was && now ? [.online] : [])
    }
}

/// A change with the environment of the hooks, which has no secret.
struct HookCall: Equatable, Sendable {
    let change: HookChange
    /// Environment as `NAME=value`. Values are printable, because a network chooses its SSID.
    let environment: [String]

    init(_ change: HookChange, _ status: NetworkStatus) {
        self.change = change
        let variables: [(String, String)] = [
            ("CHANGE", change.rawValue), ("ONLINE", status.isCheckedOnline ? "yes" : "no"),
            ("STATE", status.state.rawValue), ("UPLINK", status.carriedBy?.rawValue ?? ""),
            ("SSID", status.ssid?.description ?? ""), ("SSID_HEX", status.ssid.map { Hex.string($0.bytes) } ?? ""),
            ("BSSID", status.bssid?.description ?? ""),
            ("ADDRESSES", status.addresses.map(\.printable).joined(separator: " ")),
            ("INTERNET", status.connectivity?.internet.rawValue ?? ""), ("METERED", status.isMetered ? "yes" : "no"),
        ]
        environment =
            ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"] + variables.map { "ALTNET_\($0)=\($1)" }
    }
}

/// Decides which hook runs when: one at a time, for one change after the other.
struct HookSchedule {
    enum Event {
        /// - Parameter hooks: names of the hooks, in their order.
        case changed(HookCall, hooks: [String])
        /// The running hook has ended.
        case ended
        /// The running hook has reached its time limit.
        case timeIsUp
    }

    enum Effect: Equatable {
        case start(String, HookCall)
        /// Kill the running hook. The event `ended` follows.
        case kill
        /// A change is dropped, because too many wait.
        case dropped(HookCall)
    }

    /// Maximum number of changes that wait for the running one. A further one replaces the oldest.
    static let maximumWaiting = 16

    private typealias Entry = (call: HookCall, hooks: ArraySlice<String>)

    private var waiting: [Entry] = []
    /// The change whose hook runs, with the hooks after it; nil if none runs.
    private var running: Entry?

    mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .changed(let call, let hooks):
            guard !hooks.isEmpty else { return [] }
            waiting.append((call, hooks[...]))
            guard running != nil else { return next() }
            return waiting.count > Self.maximumWaiting ? [.dropped(waiting.removeFirst().call)] : []
        case .ended: return next()
        case .timeIsUp: return running == nil ? [] : [.kill]
        }
    }

    private mutating func next() -> [Effect] {
        if running?.hooks.isEmpty ?? true { running = waiting.isEmpty ? nil : waiting.removeFirst() }
        guard let call = running?.call, let hook = running?.hooks.popFirst() else { return [] }
        return [.start(hook, call)]
    }
}
