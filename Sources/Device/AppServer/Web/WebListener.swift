import AgentModel
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Answers browsers without TLS, on the setup access point.
package final class WebListener: Sendable {
    private struct State {
        var admission: Admission
        var channels: [Admission.Ticket: any Channel] = [:]
        var listener: (any Channel)?
    }

    private let pages: any WebPages
    private let limits: BrowserLimits
    private let clock = ServerClock(ContinuousClock())
    private let state: Mutex<State>

    package init(_ pages: any WebPages, limits: BrowserLimits = BrowserLimits()) {
        (self.pages, self.limits) = (pages, limits)
        var admitted = AppServer.LANLimits()
        (admitted.handshakes, admitted.handshakesPerAddress) = (limits.connections, limits.connectionsPerAddress)
        state = Mutex(State(admission: Admission(admitted)))
    }

    package var port: Int? { state.withLock { $0.listener?.localAddress?.port } }

    package var connections: Int { state.withLock { $0.channels.count } }

    /// - Parameter prepare: called for the listening socket before it is bound.
    /// - Throws: a system error, for example if another program uses the port.
    package func listen(
        at address: IPAddress, port: Int, on loop: any EventLoop,
        prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws {
        let listener = try await bootstrap(on: loop, prepare: prepare)
            .bind(to: SocketAddress(ipAddress: "\(address)", port: port)).get()
        state.withLock { $0.listener = listener }
    }

    /// Listens for programs on this machine.
    /// - Parameters:
    ///   - path: socket file. A stale one is replaced.
    ///   - mode: permissions of the file.
    /// - Throws: `AppServerError` if another process listens there, or a system error.
    package func listen(atSocket path: String, mode: UInt32, on loop: any EventLoop) async throws {
        let file = ServerSocketFile(path: path, mode: mode, group: getegid())
        let place = try file.claim()
        let listener = try await bootstrap(on: loop) { _ in }.bind(unixDomainSocketPath: place).get()
        do {
            let identity = try file.publish(place)
            listener.closeFuture.whenComplete { _ in file.remove(identity) }
        } catch {
            try? await listener.close()
            throw error
        }
        state.withLock { $0.listener = listener }
    }

    private func bootstrap(
        on loop: any EventLoop, prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> ServerBootstrap {
        ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 4096)
            )
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.socketOption(.so_sndbuf), value: 65_536)
            .childChannelOption(.socketOption(.so_rcvbuf), value: 32_768)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel)
                    try channel.pipeline.syncOperations.acceptThroughShortage()
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.receive(channel) }
            }
    }

    package func close() async {
        let (listener, channels) = state.withLock { state in
            defer { state.listener = nil }
            return (state.listener, Array(state.channels.values))
        }
        try? await listener?.close()
        // Waits for the callbacks of `closeFuture` too, such as removing the socket file.
        try? await listener?.closeFuture.get()
        for channel in channels {
            channel.close(promise: nil)
            try? await channel.closeFuture.get()
        }
    }

    private func receive(_ channel: any Channel) throws {
        // Clients of a Unix socket have no address.
        let client =
            channel.remoteAddress.flatMap { Browser($0) } ?? IPAddress("127.0.0.1").map { Browser(address: $0) }
        guard let client, let ticket = admit(channel, client) else { throw ChannelError.eof }
        let wait = TimeAmount.milliseconds(limits.requestTime.milliseconds)
        let overdue = channel.eventLoop.scheduleTask(in: wait) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in
            overdue.cancel()
            self.leave(ticket)
        }
        let exchange = BrowserExchange(pages, client, limits: limits, clock: clock) { _ in overdue.cancel() }
        try channel.pipeline.syncOperations.addWeb(exchange, limits)
    }

    private func admit(_ channel: any Channel, _ client: Browser) -> Admission.Ticket? {
        let (admitted, displaced) = state.withLock { state -> (Admission.Ticket?, (any Channel)?) in
            guard
                case .admitted(let ticket, _, let displaced) = state.admission.arrive(
                    from: client.address, of: client.site, at: clock.now)
            else { return (nil, nil) }
            state.channels[ticket] = channel
            return (ticket, displaced.flatMap { state.channels.removeValue(forKey: $0) })
        }
        displaced?.close(promise: nil)
        return admitted
    }

    private func leave(_ ticket: Admission.Ticket) {
        state.withLock { state in
            state.admission.leave(ticket)
            state.channels[ticket] = nil
        }
    }
}

extension ChannelPipeline.SynchronousOperations {
    func addWeb(_ exchange: BrowserExchange, _ limits: BrowserLimits) throws {
        try addHandlers([ReadBytesWiper(), WebByteLimit(limits)])
        try configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: true)
        try addHandler(exchange)
    }
}
