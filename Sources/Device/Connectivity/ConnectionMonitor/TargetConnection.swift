import AgentModel
import NIOCore
import NIOSSL
import Synchronization

/// Keeps a connection to a target, and tells how it stands: the states are those of Network.framework's `NWConnection`.
///
/// - `setup` before the start; `preparing` while it is tried for the first time in a network.
/// - `waiting`: there is no way there, and in this network there was none yet. `failed`: there was one, and it broke.
///   Both are tried again by themselves, and end with `ready`, where the other side answers.
/// - A server that ends a connection in order has not failed as long as it lets the device in again.
public final class TargetConnection: Sendable {
    public let target: Target
    private let loop: any EventLoop
    private let keeper: NIOLoopBoundBox<ConnectionKeeper>
    private let shared: SharedStatus

    /// - Parameters:
    ///   - trust: needed where the target has TLS; without it no such connection is made (`tlsFailed`).
    ///   - now: the clock of all moments told here; monotonic.
    ///   - onChange: is called once for each change, in their order, on an event loop of the group.
    ///   - onDoubt: a connection that was ready is no more: nothing was heard any longer, it broke, or it ended and
    ///     could not be made again. After the change has been told.
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
        keeper = NIOLoopBoundBox.makeBoxSendingValue(
            ConnectionKeeper(
                ConnectionMachine(settings: reconnection, now: now()),
                opener: ConnectionOpener(target: target, trust: trust, keepAlive: keepAlive),
                freshness: keepAlive.freshness, answerLimit: reconnection.limit, loop: loop, now: now,
                onChange: {
                    status.value = $0
                    onChange($0)
                }, onDoubt: onDoubt),
            eventLoop: loop)
    }

    deinit { cancel() }

    /// How it stands; from any thread.
    public var status: ConnectionStatus { shared.value }

    /// When the other side was last heard, if only by its kernel's acknowledgement; nil if never in this network.
    public var lastHeard: Instant? {
        get async {
            let keeper = keeper
            return (try? await loop.flatSubmit { keeper.value.lastHeard() }.get()) ?? nil
        }
    }

    public func start(through network: InterfaceNetwork) { start(by: network.connector) }

    /// Another network than before: whatever there was is given up, and it is tried at once.
    public func restart(through network: InterfaceNetwork) { start(by: network.connector) }

    /// There is no network for now.
    public func suspend() { onLoop { $0.handle(.noNetwork) } }

    /// Ends it for good.
    public func cancel() { onLoop { $0.handle(.cancel) } }

    /// Whether the other side answers now. Without any traffic, if it was heard lately; else it is tried at once,
    /// whatever pause there is. Callers at the same time share one attempt.
    ///
    /// A server that refuses, breaks off or is not who it should be proves that the network leads there.
    /// - Parameters:
    ///   - limit: how long it may take.
    ///   - freshness: the age that counts as lately; nil for the rhythm of the keep-alive, and 10 s at most.
    /// - Returns: nil if it answers, else why not.
    public func probe(within limit: Duration, freshness: Duration? = nil) async -> ReachProblem? {
        let keeper = keeper
        do {
            return try await loop.flatSubmit { keeper.value.probe(within: limit, freshness: freshness) }.get()
        } catch {
            return .timedOut
        }
    }

    func start(by connect: @escaping Connector) { onLoop { $0.start(by: connect) } }

    private func onLoop(_ body: @escaping @Sendable (ConnectionKeeper) -> Void) {
        let keeper = keeper
        loop.execute { body(keeper.value) }
    }
}

/// Written on the event loop, read from any thread.
private final class SharedStatus: Sendable {
    private let status: Mutex<ConnectionStatus>

    init(_ status: ConnectionStatus) { self.status = Mutex(status) }

    var value: ConnectionStatus {
        get { status.withLock { $0 } }
        set { status.withLock { $0 = newValue } }
    }
}

/// When it is tried again.
public struct Reconnection: Sendable, Hashable {
    /// The longest waits; each is cut at random down to nothing.
    public var waits = BackOff(first: .seconds(1), last: .seconds(60))
    /// The same for a server that ends every connection soon: it is ready as long as it lets the device in.
    public var lastWhileReady = Duration.seconds(30)
    /// A connection that lasted so long was a good one: the next wait is the first one again.
    public var settled = Duration.seconds(10)
    /// One attempt: name, connection, keys, first answer.
    public var limit = Duration.seconds(10)

    public init() {}
}

/// The authorities that have to vouch for targets with TLS.
public final class TargetTrust: Sendable {
    let context: NIOSSLContext

    /// Reads and parses the certificates, which takes some ten milliseconds: made once, for all targets.
    /// - Parameter authorities: a file of certificates (PEM); nil for those of the system.
    public init(authorities: String? = nil) throws(TrustError) {
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

/// Why no certificates can be checked.
public enum TrustError: Error, Equatable, Sendable {
    case unreadable(path: String)
}

extension TrustError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path): "the certificates \(path.printable) cannot be read: a PEM file is needed"
        }
    }
}
