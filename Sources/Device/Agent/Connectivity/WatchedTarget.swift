import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Linux

/// A target as `ConnectivityMonitor` sees it. In each network it has a connection of its own, so that what is heard
/// over one is never taken for what is heard over another.
@AgentLoop
final class WatchedTarget {
    /// One connection, as much of it as is used here.
    struct Line: Sendable {
        let status: @Sendable () -> ConnectionStatus
        /// Nil if it answers now, or was heard within the last seconds.
        let probe: @Sendable (_ limit: Duration) async -> ReachProblem?
        let cancel: @Sendable () -> Void
    }

    /// News of a connection that nothing asked for.
    enum Word: Sendable {
        case changed
        /// It was ready, and is no more.
        case doubted
    }

    nonisolated let name: String
    nonisolated let host: String
    nonisolated let port: Int
    nonisolated let isTLS: Bool
    /// Receives the connection's news.
    var onWord: (WatchedTarget, Word) -> Void = { _, _ in }
    private let open: @Sendable (InterfaceNetwork, @escaping @Sendable (Word) -> Void) -> Line
    private var line: Line?
    /// Counts the connections: the last one alone is listened to.
    private var count = 0
    /// How it stands without a connection.
    private var rest = ConnectionStatus(state: .setup, since: .now)

    /// - Parameter open: makes a connection through a network, and keeps it until it is cancelled.
    init(
        name: String, host: String, port: Int, isTLS: Bool,
        open: @escaping @Sendable (InterfaceNetwork, @escaping @Sendable (Word) -> Void) -> Line
    ) {
        (self.name, self.host, self.port, self.isTLS, self.open) = (name, host, port, isTLS, open)
    }

    /// Goes on through this network; nil where there is none.
    func follow(_ network: InterfaceNetwork?) {
        guard rest.state != .cancelled else { return }
        line?.cancel()
        count += 1
        rest = ConnectionStatus(state: .waiting, reason: .noAddress, since: .now)
        line = network.map { network in
            open(network) { [weak self, count] word in
                Task { @AgentLoop in self?.heard(word, from: count) }
            }
        }
    }

    /// It is not looked at any more.
    func cancel() {
        line?.cancel()
        (line, count) = (nil, count + 1)
        onWord = { _, _ in }
        rest = ConnectionStatus(state: .cancelled, since: .now)
    }

    /// The same target, for a network of its own.
    func twin() -> WatchedTarget { WatchedTarget(name: name, host: host, port: port, isTLS: isTLS, open: open) }

    private func heard(_ word: Word, from number: Int) {
        guard number == count else { return }
        onWord(self, word)
    }

    var status: ConnectionStatus { line?.status() ?? rest }

    /// How it stands.
    var snapshot: ReachTarget { ReachTarget(name: name, host: host, port: port, isTLS: isTLS, status: status) }

    func probe(_ limit: Duration) async -> ReachProblem? {
        guard let line else { return rest.reason ?? .noAddress }
        return await line.probe(limit)
    }
}

extension WatchedTarget {
    /// - Parameter connect: makes a connection that is not started.
    convenience init(
        _ target: Target,
        connecting connect: @escaping @Sendable (Target, @escaping @Sendable (Word) -> Void) -> TargetConnection
    ) {
        self.init(name: target.name, host: target.host, port: target.port, isTLS: target.isTLS) { network, tell in
            let connection = connect(target, tell)
            connection.start(through: network)
            return Line(
                status: { connection.status }, probe: { await connection.probe(within: $0) },
                cancel: { connection.cancel() })
        }
    }
}
