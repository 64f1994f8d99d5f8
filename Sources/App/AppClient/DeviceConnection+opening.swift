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
    /// One thread is enough for every connection of a process, and it lives as long as the process does.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// - Parameter limit: how long it may take until the device can be asked: name, connection and handshake.
    static func open(_ endpoint: Endpoint, within limit: Duration) async throws(ClientError) -> DeviceConnection {
        guard endpoint.isPossible else { throw .connectFailed(endpoint, errno: EINVAL) }
        let loop = eventLoops.next()
        let opened = loop.makePromise(of: DeviceConnection.self)
        let timer = loop.scheduleTask(in: TimeAmount(limit)) { opened.fail(ClientError.timedOut) }
        let channel = connect(to: endpoint, on: loop, within: limit)
        channel.flatMap { prepare($0, for: endpoint) }.cascade(to: opened)
        opened.futureResult.whenComplete { result in
            timer.cancel()
            // Whoever gives up closes what may still come.
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

    /// Reads nothing yet: of the addresses of one host several may be tried at once, and only the winner is set up.
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
        let inbox = Inbox()
        let secured = channel.eventLoop.makePromise(of: Void.self)
        do {
            let pipeline = channel.pipeline.syncOperations
            if case .network(_, _, let device) = endpoint {
                // Both sides show that they have the key.
                try pipeline.addHandler(try device.tlsHandler())
                try pipeline.addHandler(HandshakeObserver(secured))
            } else {
                // The kernel vouches for the other side.
                secured.succeed()
            }
            try pipeline.addHandler(LineReceiver(inbox: inbox))
        } catch {
            // The other side may have closed the connection by now.
            secured.fail(error)
        }
        return channel.setOption(.autoRead, value: true)
            .flatMap { secured.futureResult }
            .map { DeviceConnection(channel: channel, inbox: inbox) }
    }
}

extension Endpoint {
    /// Whether it can be asked for at all; what is not checked here is the resolver's business.
    fileprivate var isPossible: Bool {
        switch self {
        case .unixSocket(let path): !path.utf8.contains(0)
        case .network(let host, let port, _):
            // RFC 1035, clause 2.3.4, with room for the zone of an address.
            (1...65_535).contains(port) && (1...255).contains(host.utf8.count) && !host.utf8.contains(0)
        }
    }
}
