import AgentModel
import NIOCore
import NIOPosix
import Synchronization

/// Keeps a connection to one server and tells how it stands, in a program of its own, without altnet's agent:
///
///     let monitor = try ConnectionMonitor(of: "mqtts://mqtt.example.com:8883")
///     monitor.start()
///     for await status in monitor.changes {
///         print(status.isOnline ? "online" : "offline", status.state)
///     }
///
/// The states are those of Network.framework's `NWConnection`: see ``ConnectionState``. The monitor tries again by
/// itself until it is cancelled or released. No privilege is needed.
public final class ConnectionMonitor: Sendable {
    public let target: Target
    private let network: InterfaceNetwork
    private let line: @Sendable (@escaping @Sendable (ConnectionStatus) -> Void) -> TargetConnection
    private let now: @Sendable () -> Instant
    private let board: Mutex<Board>

    private struct Board {
        var status: ConnectionStatus
        /// The connection; nil before the start and after the end.
        var line: TargetConnection?
        /// Counts the connections: the last one alone is listened to.
        var number = 0
        var readers: [Int: AsyncStream<ConnectionStatus>.Continuation] = [:]
        var lastReader = 0

        mutating func show(_ new: ConnectionStatus) {
            guard new != status else { return }
            status = new
            for reader in readers.values { reader.yield(new) }
        }
    }

    /// How many changes a reader that is slow may be behind before it misses the oldest.
    private static let backlog = 64

    /// - Parameters:
    ///   - server: `[SCHEME://]HOST:PORT` with one of ``Target/schemes``; `tcp` without a scheme.
    ///   - interface: the interface to go through, whatever route the machine prefers; nil for that route.
    ///   - authorities: a file of certificates (PEM) that vouch for a server with TLS; nil for those of the system.
    ///   - group: on one of whose event loops everything runs.
    /// - Throws: where the server cannot be one, or certificates cannot be read. Nothing is sent to find that out.
    public convenience init(
        of server: String, through interface: String? = nil, authorities: String? = nil,
        keepAlive: KeepAlive = KeepAlive(), reconnection: Reconnection = Reconnection(),
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws(ConnectionMonitorError) {
        let target: Target
        do throws(TargetError) { target = try Target(name: "server", url: server) } catch { throw .server(error) }
        var trust: TargetTrust?
        if target.isTLS {
            do throws(TrustError) { trust = try TargetTrust(authorities: authorities) } catch { throw .trust(error) }
        }
        self.init(
            of: target, through: InterfaceNetwork(interface: interface, on: group), trust: trust, keepAlive: keepAlive,
            reconnection: reconnection, on: group)
    }

    /// - Parameters:
    ///   - network: the network to go through, which other monitors may share.
    ///   - trust: needed where the target has TLS.
    public init(
        of target: Target, through network: InterfaceNetwork, trust: TargetTrust? = nil,
        keepAlive: KeepAlive = KeepAlive(), reconnection: Reconnection = Reconnection(), on group: any EventLoopGroup
    ) {
        (self.target, self.network) = (target, network)
        let now: @Sendable () -> Instant = {
            Instant(milliseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds / 1_000_000))
        }
        self.now = now
        board = Mutex(Board(status: ConnectionStatus(state: .setup, since: now())))
        line = { tell in
            TargetConnection(
                target, trust: trust, keepAlive: keepAlive, reconnection: reconnection, on: group, now: now,
                onChange: tell, onDoubt: { _ in })
        }
    }

    deinit {
        board.withLock { board in
            board.line?.cancel()
            for reader in board.readers.values { reader.finish() }
        }
    }

    /// How it stands; from any thread.
    public var status: ConnectionStatus { board.withLock { $0.status } }

    /// Whether the server answers.
    public var isOnline: Bool { status.isOnline }

    /// The present status, and then each change. It goes on when the monitor is cancelled and started again, and ends
    /// with the monitor. Each caller gets a sequence of its own.
    public var changes: AsyncStream<ConnectionStatus> {
        let (stream, reader) = AsyncStream.makeStream(
            of: ConnectionStatus.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        let id = board.withLock { board in
            board.lastReader += 1
            board.readers[board.lastReader] = reader
            reader.yield(board.status)
            return board.lastReader
        }
        reader.onTermination = { [weak self] _ in self?.board.withLock { _ = $0.readers.removeValue(forKey: id) } }
        return stream
    }

    /// Begins, or begins anew after ``cancel()``. Nothing happens while it runs.
    public func start() {
        board.withLock { board in
            guard board.line == nil else { return }
            begin(&board)
        }
    }

    /// Begins anew at once, whatever it was at: the connection that there was is given up, names are asked for again
    /// and no pause is waited for. To be called where the machine is in another network.
    public func restart() {
        network.forget()
        board.withLock { board in
            board.line?.cancel()
            begin(&board)
        }
    }

    /// Ends the connection: the state is `cancelled` until ``start()`` or ``restart()``.
    public func cancel() {
        board.withLock { board in
            board.line?.cancel()
            board.line = nil
            board.number += 1
            guard board.status.state != .cancelled else { return }
            board.show(ConnectionStatus(state: .cancelled, since: now()))
        }
    }

    /// Whether the server answers now: without any traffic if it was heard lately, else by asking it.
    /// - Parameter limit: how long it may take.
    /// - Returns: nil if it answers, else why not; `noAddress` where the monitor is not started.
    public func probe(within limit: Duration) async -> ReachProblem? {
        guard let line = board.withLock({ $0.line }) else { return .noAddress }
        return await line.probe(within: limit)
    }

    private func begin(_ board: inout Board) {
        board.number += 1
        let number = board.number
        let line = line { [weak self] in self?.heard($0, from: number) }
        board.line = line
        board.show(ConnectionStatus(state: .preparing, since: now()))
        line.start(through: network)
    }

    private func heard(_ status: ConnectionStatus, from number: Int) {
        board.withLock { board in
            guard number == board.number else { return }
            // The connection's own `preparing` is the one that was told at the start.
            guard status.state != .preparing || board.status.state != .preparing else { return }
            board.show(status)
        }
    }
}

/// Why there can be no monitor.
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
