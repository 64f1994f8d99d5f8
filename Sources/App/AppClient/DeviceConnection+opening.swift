import AppProtocol
import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension DeviceConnection {
    /// Event loop of one thread, which serves all connections of the process.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// - Parameter limit: longest duration of name resolution, connection and handshake together.
    static func open(_ endpoint: Endpoint, within limit: Duration) async throws(ClientError) -> DeviceConnection {
        guard endpoint.isPossible else { throw .connectFailed(endpoint, errno: EINVAL) }
        let loop = eventLoops.next()
        let opened = loop.makePromise(of: DeviceConnection.self)
        let timer = loop.scheduleTask(in: TimeAmount(limit)) { opened.fail(ClientError.timedOut) }
        let channel = connect(to: endpoint, on: loop, within: limit)
        channel.flatMap { prepare($0, for: endpoint) }.cascade(to: opened)
        opened.futureResult.whenComplete { result in
            timer.cancel()
            // Close the connection if it opens after the caller has given up.
            if case .failure = result { channel.whenSuccess { $0.close(promise: nil) } }
        }
        do {
            return try await withTaskCancellationHandler {
                try await opened.futureResult.get()
            } onCancel: {
                opened.fail(ClientError.cancelled)
            }
        } catch {
            throw ClientError(connecting: endpoint, error)
        }
    }

    /// Connects without reading. NIO may try several addresses at once, and only the first open connection is set up.
    private static func connect(
        to endpoint: Endpoint, on loop: any EventLoop, within limit: Duration
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(limit))
            .channelOption(.autoRead, value: false)
        return switch endpoint {
        case .unixSocket(let path): bootstrap.connect(unixDomainSocketPath: path)
        case .network(let host, let port, _): bootstrap.keptAlive().connect(host: host, port: port)
        }
    }

    private static func prepare(
        _ channel: any Channel, for endpoint: Endpoint
    ) -> EventLoopFuture<DeviceConnection> {
        let router = MessageRouter()
        let opened = channel.eventLoop.makePromise(of: SessionOpened?.self)
        do {
            let pipeline = channel.pipeline.syncOperations
            if case .network(_, _, let device) = endpoint {
                let session = channel.eventLoop.makePromise(of: SessionOpened.self)
                session.futureResult.map { $0 }.cascade(to: opened)
                let (tls, opener) = try SessionOpener.handlers(for: device, on: channel.eventLoop, opened: session)
                try pipeline.addHandlers([tls, opener])
            } else {
                // The kernel authenticates the other side of a local socket, so the session is open.
                opened.succeed(nil)
            }
            try pipeline.addHandler(LineReceiver(router: router))
        } catch {
            // An error is normal if the other side has closed the connection.
            opened.fail(error)
        }
        return channel.setOption(.autoRead, value: true)
            .flatMap { opened.futureResult }
            .map { DeviceConnection(channel: channel, router: router, session: $0) }
    }
}

extension Endpoint {
    /// Whether the endpoint can be passed to the resolver.
    fileprivate var isPossible: Bool {
        switch self {
        case .unixSocket(let path): !path.utf8.contains(0)
        case .network(let host, let port, _):
            // A host name has at most 255 bytes (RFC 1035, clause 2.3.4). This is enough for an address with a zone
            // too.
            (1...65_535).contains(port) && (1...255).contains(host.utf8.count) && !host.utf8.contains(0)
        }
    }
}

extension ClientBootstrap {
    /// Detects a silent device after about 30 seconds, whether the connection is idle (tcp(7), `TCP_KEEPIDLE`) or
    /// sending.
    func keptAlive() -> ClientBootstrap {
        let bootstrap = channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.keepAliveInterval), value: 5)
            .channelOption(.tcpOption(.keepAliveCount), value: 3)
        #if canImport(Darwin)
            return bootstrap.channelOption(.tcpOption(.keepAliveIdle), value: 15)
                .channelOption(.tcpOption(.dropAfter), value: 30)
        #else
            return bootstrap.channelOption(.tcpOption(.keepAliveIdle), value: 15)
                .channelOption(.tcpOption(.dropAfter), value: 30_000)
        #endif
    }
}

extension NIOBSDSocket.Option {
    fileprivate static let keepAliveInterval = NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)
    fileprivate static let keepAliveCount = NIOBSDSocket.Option(rawValue: TCP_KEEPCNT)
    #if canImport(Darwin)
        /// Seconds of silence before the first keepalive probe.
        fileprivate static let keepAliveIdle = NIOBSDSocket.Option(rawValue: TCP_KEEPALIVE)
        /// Seconds until a silent connection is dropped (netinet/tcp.h).
        fileprivate static let dropAfter = NIOBSDSocket.Option(rawValue: TCP_RXT_CONNDROPTIME)
    #else
        /// Seconds of silence before the first keepalive probe.
        fileprivate static let keepAliveIdle = NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)
        /// Milliseconds until a silent connection is dropped.
        fileprivate static let dropAfter = NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT)
    #endif
}
