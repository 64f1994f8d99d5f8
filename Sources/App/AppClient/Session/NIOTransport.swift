#if os(Linux) || os(macOS)
    import AppProtocol
    import NIOCore
    import NIOPosix
    import NIOSSL

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Darwin)
        import Darwin
    #endif

    /// The transport of Linux and macOS, with SwiftNIO and BoringSSL.
    struct NIOTransport: Transport {
        private let channel: any Channel
        let mayDeliverLate: Bool

        /// Event loop of one thread, which serves all connections of the process.
        private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

        /// - Parameter limit: longest duration of name resolution, connection and handshake together.
        static func open(_ endpoint: Endpoint, within limit: Duration) async throws(ClientError) -> DeviceConnection {
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

        /// Connects without reading. NIO may try several addresses at once, and only the first open connection is set
        /// up.
        private static func connect(
            to endpoint: Endpoint, on loop: any EventLoop, within limit: Duration
        ) -> EventLoopFuture<any Channel> {
            let bootstrap = ClientBootstrap(group: loop)
                .connectTimeout(TimeAmount(limit))
                .channelOption(.autoRead, value: false)
            return switch endpoint {
            case .unixSocket(let path): bootstrap.connect(unixDomainSocketPath: path)
            case .network(let host, let port, _): bootstrap.keptAlive().connect(host: host, port: port)
            case .broker(let route, let device): route.connect(to: device.deviceId, with: bootstrap, on: loop)
            case .first: loop.makeFailedFuture(ClientError.notFound)
            }
        }

        private static func prepare(
            _ channel: any Channel, for endpoint: Endpoint
        ) -> EventLoopFuture<DeviceConnection> {
            let router = MessageRouter()
            let opened = channel.eventLoop.makePromise(of: SessionOpened?.self)
            do {
                let pipeline = channel.pipeline.syncOperations
                if let device = endpoint.device {
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
                .map {
                    DeviceConnection(
                        transport: NIOTransport(channel: channel, mayDeliverLate: endpoint.isBroker), router: router,
                        session: $0)
                }
        }

        func send(_ line: [UInt8], onFailure: @escaping @Sendable () -> Void) {
            var buffer = channel.allocator.buffer(capacity: line.count + 1)
            buffer.writeBytes(line)
            buffer.writeInteger(UInt8(ascii: "\n"))
            channel.writeAndFlush(buffer).whenFailure { _ in onFailure() }
        }

        func close() { channel.close(promise: nil) }

        func closed() async { try? await channel.close() }

        func abandon() {
            let socket = channel as? any SocketOptionProvider
            _ = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            channel.close(promise: nil)
        }
    }

    /// Splits the received bytes into lines for the router.
    final class LineReceiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let router: MessageRouter
        private var lines = LineSplitter()

        init(router: MessageRouter) { self.router = router }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            lines.append(unwrapInboundIn(data).readableBytesView)
            while let output = lines.next() {
                switch output {
                case .line(let line): router.receive(line)
                case .lineTooLong:
                    router.end(.notUnderstood(.lineTooLong))
                    context.close(promise: nil)
                }
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            router.end(.disconnected)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            router.end(.disconnected)
            context.close(promise: nil)
        }
    }

    extension ClientError {
        init(connecting endpoint: Endpoint, _ error: any Error) {
            self =
                switch error {
                case let error as ClientError: error
                case let error as IOError: ClientError(connecting: endpoint, errno: error.errnoCode)
                case let error as NIOConnectionError: ClientError(connecting: endpoint, error)
                case let error as NIOSSLError: ClientError(securing: endpoint, error)
                case OpeningFault.otherCertificate: .certificateChanged(endpoint)
                case OpeningFault.notTheDevice: .notTheDevice(endpoint)
                case let error as ProtocolError: ClientError(opening: endpoint, error)
                case ChannelError.connectTimeout: .timedOut
                case ChannelError.eof, ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: .turnedAway(endpoint)
                case is SocketAddressError: .connectFailed(endpoint, errno: ENAMETOOLONG)
                case is CancellationError: .cancelled
                default: .disconnected
                }
        }

        /// Selects one of the errors of a host's addresses. `unreachable` takes precedence, because it says more than a
        /// missing route.
        private init(connecting endpoint: Endpoint, _ error: NIOConnectionError) {
            let attempts = error.connectionErrors.map { ClientError(connecting: endpoint, $0.error) }
            self = attempts.first { $0 == .unreachable(endpoint) } ?? attempts.first ?? .unresolvable(endpoint)
        }

        private init(securing endpoint: Endpoint, _ error: NIOSSLError) {
            guard case .handshakeFailed(.sslError(let stack)) = error else {
                self = .turnedAway(endpoint)
                return
            }
            if stack.contains(.eofDuringHandshake) {
                self = .turnedAway(endpoint)
            } else {
                self = .notADevice(endpoint)
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
#endif
