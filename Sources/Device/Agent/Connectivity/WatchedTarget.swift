import AgentCore
import AgentModel
import Connectivity
import Linux

/// A target for `ConnectivityMonitor`. Each network has its own connection, so that results of different networks are
/// never mixed up.
@AgentLoop
final class WatchedTarget {
    struct Line: Sendable {
        let status: @Sendable () -> ConnectionStatus
        /// Probes the target. Returns nil if the target answers, or has sent something within the last seconds.
        let probe: @Sendable (_ limit: Duration) async -> ReachProblem?
        let cancel: @Sendable () -> Void
    }

    /// Event that a connection reports without a request.
    enum Word: Sendable {
        case changed
        case doubted
    }

    /// Opens a connection through a network and keeps it until `cancel`. The flag says whether the traffic is metered.
    typealias Open =
        @Sendable (InterfaceNetwork, _ isMetered: Bool, @escaping @Sendable (Word) -> Void) -> Line

    nonisolated let name: String
    nonisolated let host: String
    nonisolated let port: Int
    nonisolated let isTLS: Bool
    var onWord: (WatchedTarget, Word) -> Void = { _, _ in }
    private let open: Open
    private var line: Line?
    /// Number of the current connection. Reports of earlier connections are ignored.
    private var count = 0
    private var rest = ConnectionStatus(state: .setup, since: .now)

    init(name: String, host: String, port: Int, isTLS: Bool, open: @escaping Open) {
        (self.name, self.host, self.port, self.isTLS, self.open) = (name, host, port, isTLS, open)
    }

    /// Reconnects through this network; disconnects if it is nil.
    /// - Parameter isMetered: whether the traffic is metered, so that keep-alives are rarer.
    func follow(_ network: InterfaceNetwork?, isMetered: Bool = false) {
        guard rest.state != .cancelled else { return }
        line?.cancel()
        count += 1
        rest = ConnectionStatus(state: .waiting, reason: .noAddress, since: .now)
        line = network.map { network in
            open(network, isMetered) { [weak self, count] word in
                Task { @AgentLoop in self?.heard(word, from: count) }
            }
        }
    }

    func cancel() {
        line?.cancel()
        (line, count) = (nil, count + 1)
        onWord = { _, _ in }
        rest = ConnectionStatus(state: .cancelled, since: .now)
    }

    func twin() -> WatchedTarget { WatchedTarget(name: name, host: host, port: port, isTLS: isTLS, open: open) }

    private func heard(_ word: Word, from number: Int) {
        guard number == count else { return }
        onWord(self, word)
    }

    var status: ConnectionStatus { line?.status() ?? rest }

    var snapshot: ReachTarget { ReachTarget(name: name, host: host, port: port, isTLS: isTLS, status: status) }

    func probe(_ limit: Duration) async -> ReachProblem? {
        guard let line else { return rest.reason ?? .noAddress }
        return await line.probe(limit)
    }
}

extension WatchedTarget {
    convenience init(
        _ target: Target,
        connecting connect: @escaping @Sendable (Target, @escaping @Sendable (Word) -> Void) -> TargetConnection
    ) {
        self.init(
            name: target.name, host: target.host, port: target.port, isTLS: target.isTLS
        ) { network, isMetered, report in
            let connection = connect(target, report)
            connection.start(through: network, keepAliveFactor: isMetered ? Metering.factor : 1)
            return Line(
                status: { connection.status }, probe: { await connection.probe(within: $0) },
                cancel: { connection.stop() })
        }
    }
}

extension TargetTrust {
    /// - Throws: if the certificates cannot be read.
    static func ofDevice(authorities: String?) throws(TrustError) -> TargetTrust {
        try TargetTrust(authorities: authorities) { ClockKnowledge.read().isKnown }
    }
}
