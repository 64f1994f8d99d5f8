import AgentModel
import NIOCore
import NIOPosix
import Synchronization

/// Monitors the connection to one server, in programs without altnet's agent:
///
///     let monitor = try ConnectionMonitor(of: "mqtts://mqtt.example.com:8883")
///     monitor.start()
///     for await status in monitor.changes {
///         print(status.isOnline ? "online" : "offline", status.state)
///     }
///
/// The states are those of Network.framework's `NWConnection`: see ``ConnectionState``. The monitor reconnects until it
/// is stopped or released. It needs no privileges.
public final class ConnectionMonitor: Sendable {
    public let target: Target
    private let network: InterfaceNetwork
    private let line: @Sendable (@escaping @Sendable (ConnectionStatus) -> Void) -> TargetConnection
    private let now: @Sendable () -> Instant
    private let state: Mutex<State>

    private struct State {
        var status: ConnectionStatus
        /// The connection; nil before the start and after the end.
        var line: TargetConnection?
        /// Number of the current connection. Events of earlier connections are ignored.
        var number = 0
        var readers: [Int: AsyncStream<ConnectionStatus>.Continuation] = [:]
        var lastReader = 0

        mutating func show(_ new: ConnectionStatus) {
            guard new != status else { return }
            status = new
            for reader in readers.values { reader.yield(new) }
        }
    }

    /// Maximum number of changes buffered for a slow reader. Older changes are dropped.
    private static let backlog = 64

    /// - Parameters:
    ///   - server: `[SCHEME://]HOST[:PORT]` with one of ``Target/schemes``; the default is `tcp` and port 80.
    ///   - interface: interface to use, independent of the routing table; nil for the default route.
    ///   - authorities: PEM file with the trusted certificates for TLS; nil for the system's.
    ///   - isClockSet: whether the clock can judge certificates. If not, a failure of TLS is the problem `clockNotSet`
    ///     instead of `tlsFailed`.
    ///   - group: all work runs on one of its event loops.
    /// - Throws: if the server is invalid or certificates cannot be read. Sends nothing.
    public convenience init(
        of server: String, through interface: String? = nil, authorities: String? = nil,
        isClockSet: @escaping @Sendable () -> Bool = { true },
        keepAlive: KeepAlive = KeepAlive(), reconnection: Reconnection = Reconnection(),
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws(ConnectionMonitorError) {
        let target: Target
        do throws(TargetError) { target = try Target(name: "server", url: server) } catch { throw .server(error) }
        var trust: TargetTrust?
        if target.isTLS {
            do throws(TrustError) {
                trust = try TargetTrust(authorities: authorities, isClockSet: isClockSet)
            } catch {
                throw .trust(error)
            }
        }
        self.init(
            of: target, through: InterfaceNetwork(interface: interface, on: group), trust: trust, keepAlive: keepAlive,
            reconnection: reconnection, on: group)
    }

    /// - Parameter trust: required for targets with TLS.
    public init(
        of target: Target, through network: InterfaceNetwork, trust: TargetTrust? = nil,
        keepAlive: KeepAlive = KeepAlive(), reconnection: Reconnection = Reconnection(), on group: any EventLoopGroup
    ) {
        (self.target, self.network) = (target, network)
        let now: @Sendable () -> Instant = {
            Instant(milliseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds / 1_000_000))
        }
        self.now = now
        state = Mutex(State(status: ConnectionStatus(state: .setup, since: now())))
        line = { report in
            TargetConnection(
                target, trust: trust, keepAlive: keepAlive, reconnection: reconnection, on: group, now: now,
                onChange: report, onDoubt: { _ in })
        }
    }

    deinit {
        state.withLock { board in
            board.line?.stop()
            for reader in board.readers.values { reader.finish() }
        }
    }

    /// State of the connection, readable from any thread.
    public var status: ConnectionStatus { state.withLock { $0.status } }

    public var isOnline: Bool { status.isOnline }

    /// Current status and each change, across `stop` and `start`, until the monitor ends. Each caller gets a new
    /// sequence.
    public var changes: AsyncStream<ConnectionStatus> {
        let (stream, reader) = AsyncStream.makeStream(
            of: ConnectionStatus.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        let id = state.withLock { board in
            board.lastReader += 1
            board.readers[board.lastReader] = reader
            reader.yield(board.status)
            return board.lastReader
        }
        reader.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.readers.removeValue(forKey: id) } }
        return stream
    }

    /// Starts the monitor. Does nothing while it runs.
    public func start() {
        state.withLock { board in
            guard board.line == nil else { return }
            begin(&board)
        }
    }

    /// Reconnects at once and resolves names again. Call this when the machine is in another network.
    public func restart() {
        network.forget()
        state.withLock { board in
            board.line?.stop()
            begin(&board)
        }
    }

    /// Closes the connection, and reconnects after a pause as after a loss. Does nothing if not started.
    public func cancel() { state.withLock { $0.line }?.cancel() }

    /// Closes the connection. The state stays `cancelled` until ``start()`` or ``restart()``.
    public func stop() {
        state.withLock { board in
            board.line?.stop()
            board.line = nil
            board.number += 1
            guard board.status.state != .cancelled else { return }
            board.show(ConnectionStatus(state: .cancelled, since: now()))
        }
    }

    /// Checks if the server answers now. Sends nothing if the server was heard recently.
    /// - Returns: nil if the server answers, otherwise the problem; `noAddress` if not started.
    public func probe(within limit: Duration) async -> ReachProblem? {
        guard let line = state.withLock({ $0.line }) else { return .noAddress }
        return await line.probe(within: limit)
    }

    private func begin(_ board: inout State) {
        board.number += 1
        let number = board.number
        let line = line { [weak self] in self?.heard($0, from: number) }
        board.line = line
        board.show(ConnectionStatus(state: .preparing, since: now()))
        line.start(through: network)
    }

    private func heard(_ status: ConnectionStatus, from number: Int) {
        state.withLock { board in
            guard number == board.number else { return }
            // `start()` has already reported `preparing`.
            guard status.state != .preparing || board.status.state != .preparing else { return }
            board.show(status)
        }
    }
}

/// An invalid setting of a monitor.
public enum ConnectionMonitorError: Error, Equatable, Sendable {
    case server(TargetError)
    case trust(TrustError)
}

extension ConnectionMonitorError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .server(let error): "\(error)"
        case .trust(let error): "\(error)"
        }
    }
}
