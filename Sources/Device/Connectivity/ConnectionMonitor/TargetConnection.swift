import AgentModel
import NIOCore
import NIOSSL
import Synchronization

/// Keeps a connection to a target. The states are those of Network.framework's `NWConnection`.
///
/// - `waiting`: no connection yet in this network. `failed`: the connection was lost. Both retry until `ready`.
/// - `cancelled`: the connection was closed on request. It opens again after a pause, unless it was stopped.
/// - A regular close by the server is not a failure as long as the server accepts a new connection.
public final class TargetConnection: Sendable {
    public let target: Target
    private let loop: any EventLoop
    private let runner: NIOLoopBoundBox<ConnectionRunner>
    private let shared: SharedStatus

    /// - Parameters:
    ///   - trust: required for targets with TLS; without it, attempts fail with `tlsFailed`.
    ///   - now: returns the time of a monotonic clock, used in all reports.
    ///   - onChange: called once for each change, in order, on an event loop of the group.
    ///   - onDoubt: called after `onChange`, when a ready connection is lost and not replaced.
    public init(
        _ target: Target, trust: TargetTrust? = nil, keepAlive: KeepAlive = KeepAlive(),
        reconnection: Reconnection = Reconnection(), on group: any EventLoopGroup,
        now: @escaping @Sendable () -> Instant, onChange: @escaping @Sendable (ConnectionStatus) -> Void,
        onDoubt: @escaping @Sendable (ReachProblem) -> Void
    ) {
        self.target = target
        let loop = group.next()
        self.loop = loop
        let status = SharedStatus(ConnectionStatus(state: .setup, since: now()))
        shared = status
        runner = NIOLoopBoundBox.makeBoxSendingValue(
            ConnectionRunner(
                ConnectionMachine(settings: reconnection, now: now()),
                opener: ConnectionOpener(target: target, trust: trust, keepAlive: keepAlive),
                freshness: keepAlive.freshness, answerLimit: reconnection.limit, loop: loop, now: now,
                onChange: {
                    status.value = $0
                    onChange($0)
                }, onDoubt: onDoubt),
            eventLoop: loop)
    }

    deinit { stop() }

    /// State of the connection, readable from any thread.
    public var status: ConnectionStatus { shared.value }

    /// Time of the last data or acknowledgement; nil if there was none in this network.
    public var lastHeard: Instant? {
        get async {
            let bound = runner
            return (try? await loop.flatSubmit { bound.value.lastHeard() }.get()) ?? nil
        }
    }

    /// Connects through a network. Reconnects after a loss, until ``suspend()`` or ``stop()``.
    /// - Parameter keepAliveFactor: factor of the keep-alive's idle time and of the interval of application pings, 1 or
    ///   more. A metered network gets less traffic and detects a dead path later.
    public func start(through network: InterfaceNetwork, keepAliveFactor: Int = 1) {
        start(by: network.connector, keepAliveFactor: keepAliveFactor)
    }

    /// Drops the connection and connects at once through another network.
    public func restart(through network: InterfaceNetwork) { start(by: network.connector) }

    /// Drops the connection until the next start, as without a network.
    public func suspend() { onLoop { $0.handle(.noNetwork) } }

    /// Closes the connection, and reconnects after a pause as after a loss.
    public func cancel() { onLoop { $0.handle(.cancel) } }

    /// Closes the connection for good.
    public func stop() { onLoop { $0.handle(.stop) } }

    /// Checks if the other side answers now. Sends nothing if the other side was heard recently. Concurrent callers
    /// share one attempt. A refusal, a reset or a wrong certificate proves that the network reaches the server.
    /// - Parameter freshness: age up to which data or an acknowledgement counts as an answer; nil for
    ///   ``KeepAlive/freshness``.
    /// - Returns: nil if the other side answers, otherwise the problem.
    public func probe(within limit: Duration, freshness: Duration? = nil) async -> ReachProblem? {
        let bound = runner
        do {
            return try await loop.flatSubmit { bound.value.probe(within: limit, freshness: freshness) }.get()
        } catch {
            return .timedOut
        }
    }

    func start(by connect: @escaping Connector, keepAliveFactor: Int = 1) {
        onLoop { $0.start(by: connect, keepAliveFactor: keepAliveFactor) }
    }

    private func onLoop(_ body: @escaping @Sendable (ConnectionRunner) -> Void) {
        let bound = runner
        loop.execute { body(bound.value) }
    }
}

/// Status that the event loop writes and any thread reads.
private final class SharedStatus: Sendable {
    private let status: Mutex<ConnectionStatus>

    init(_ status: ConnectionStatus) { self.status = Mutex(status) }

    var value: ConnectionStatus {
        get { status.withLock { $0 } }
        set { status.withLock { $0 = newValue } }
    }
}

/// Time limits of connection attempts.
public struct Reconnection: Sendable, Hashable {
    /// Longest waits between attempts. Each actual wait is random, from zero to this value.
    public var waits = BackOff(first: .seconds(1), last: .seconds(60))
    /// Longest wait before reconnecting to a server that closes every connection soon. The state stays `ready`.
    public var lastWhileReady = Duration.seconds(30)
    /// Duration of a connection that resets the waits.
    public var settled = Duration.seconds(10)
    /// Longest duration of an attempt: name, connection, TLS and first answer.
    public var limit = Duration.seconds(10)

    public init() {}
}

/// Certificate authorities for the servers.
public final class TargetTrust: Sendable {
    let context: NIOSSLContext
    let isClockSet: @Sendable () -> Bool

    /// Loads the authorities, which takes some ten milliseconds. Create one object for all targets.
    /// - Parameters:
    ///   - authorities: PEM file; nil for the system's certificates.
    ///   - isClockSet: whether the clock can judge certificates, asked after TLS failed. If not, the problem is
    ///     `clockNotSet` instead of `tlsFailed`.
    /// - Throws: if the certificates cannot be read.
    public init(
        authorities: String? = nil, isClockSet: @escaping @Sendable () -> Bool = { true }
    ) throws(TrustError) {
        self.isClockSet = isClockSet
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        do {
            if let authorities {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities))
            }
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreadable(path: authorities ?? "of the system")
        }
    }
}

/// Certificates that cannot be read.
public enum TrustError: Error, Equatable, Sendable {
    case unreadable(path: String)
}

extension TrustError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path): "cannot read the certificates \(path.printable): give a PEM file"
        }
    }
}
