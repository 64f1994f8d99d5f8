import AgentModel
import AppProtocol
import ConnectionMonitor
import InterfaceNetwork
import NIOCore

/// A target as `ReachWatch` sees it.
struct WatchedTarget: Sendable {
    let name: String
    let host: String
    let port: Int
    let status: @Sendable () -> ConnectionStatus
    let probe: @Sendable (_ limit: Duration) async -> ReachProblem?
    let restart: @Sendable (InterfaceNetwork) -> Void
    let suspend: @Sendable () -> Void
    let cancel: @Sendable () -> Void

    /// Whether it is out in the internet: names are, but for those that mean the house.
    var isFar: Bool {
        if let address = IPAddress(host) { return address.isGlobal }
        let name = host.lowercased().split(separator: ".")
        return name.count > 1 && !["local", "lan", "home", "internal", "arpa"].contains(name.last)
    }

    func report(now: Instant = .now) -> TargetStatus {
        let status = status()
        let age = max(0, (now - status.since).milliseconds)
        return TargetStatus(
            name: name, host: host, port: port, state: status.state, reason: status.reason,
            since: Timestamp(millisecondsSince1970: Timestamp.now.millisecondsSince1970 - age))
    }
}

extension WatchedTarget {
    init(_ connection: TargetConnection) {
        let target = connection.target
        self.init(
            name: target.name, host: target.host, port: target.port, status: { connection.status },
            probe: { await connection.probe(within: $0) }, restart: { connection.restart(through: $0) },
            suspend: { connection.suspend() }, cancel: { connection.cancel() })
    }
}
