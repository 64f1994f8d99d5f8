import AppProtocol
import NIOCore
import NIOPosix
import Synchronization

/// Serves the app protocol on a Unix socket.
///
/// The requests of one connection are answered in their order, and the next one is not read before the last answer has
/// gone out: a client that floods or does not read holds up only itself, in bounded memory.
public final class AppServer: Sendable {
    /// What the server allows at most.
    public struct Limits: Sendable {
        /// Connections at the same time. One more is answered `busy` and closed.
        public var connections: Int
        /// How long a connection that sent too long a line may go on sending before it is cut off.
        public var lingering: Duration

        public init(connections: Int = 32, lingering: Duration = .seconds(2)) {
            self.connections = connections
            self.lingering = lingering
        }
    }

    private let socket: ServerSocketFile
    private let lan: LANListenerSettings?
    private let service: any DeviceService
    private let hub: EventHub
    private let limits: Limits
    private let running = Mutex<Running?>(nil)

    /// - Parameters:
    ///   - unix: where programs of this machine connect.
    ///   - lan: where apps in the network connect; nil if they may not.
    ///   - service: answers everything but `events.subscribe`, which `hub` does.
    public init(
        unix: UnixListenerSettings, lan: LANListenerSettings? = nil, service: any DeviceService, hub: EventHub,
        limits: Limits = Limits()
    ) {
        socket = ServerSocketFile(path: unix.path, mode: unix.mode)
        self.lan = lan
        self.service = service
        self.hub = hub
        self.limits = limits
    }

    /// The port that apps in the network connect to; nil while the server does not run or has no such listener.
    public var lanPort: Int? { nil }

    /// The device's addresses have changed: whoever is connected to one that is gone is let go, for nothing arrives there
    /// any more.
    /// - Parameter addresses: all that the device has now, in text form.
    public func addressesChanged(to addresses: Set<String>) {}

    /// Returns once the socket accepts connections. A socket file that a dead process left behind is replaced.
    public func start() async throws(AppServerError) {
        let place = try socket.claim()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let connections = ConnectionTasks()
            let listener = try await listen(at: place, on: group, connections)
            let file = try socket.publish(place)
            running.withLock {
                $0 = Running(group: group, listener: listener, connections: connections, file: file)
            }
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Ends every connection and removes the socket file.
    public func stop() async {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        socket.remove(running.file)
        try? await running.listener.close()
        await running.connections.stop()
        try? await running.group.shutdownGracefully()
    }

    private struct Running {
        let group: MultiThreadedEventLoopGroup
        let listener: any Channel
        let connections: ConnectionTasks
        let file: ServerSocketFile.Identity
    }

    private func listen(
        at path: String, on group: MultiThreadedEventLoopGroup, _ connections: ConnectionTasks
    ) async throws(AppServerError) -> any Channel {
        do {
            return try await ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 16)
                // Small reads, one at a time: what a client has sent and nobody has read yet stays in the kernel.
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(
                    .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 16_384)
                )
                // `echo ... | nc -U` closes its sending half first and still wants its answers.
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        // Out of file descriptors, accepting is tried again a second later.
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptBackoffHandler(shouldForwardIOErrorCaught: false), position: .first)
                    }
                }
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let bytes = try ByteChannel(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
                        connections.start { count in await self.serve(bytes, count: count) }
                    }
                }
                .bind(unixDomainSocketPath: path).get()
        } catch let error as IOError {
            throw .system(attempted: "listen on", path: path, errno: error.errnoCode)
        } catch {
            throw .system(attempted: "listen on", path: path, errno: 0)
        }
    }

    /// Errors end only this connection: its client has gone.
    private func serve(_ bytes: ByteChannel, count: Int) async {
        try? await bytes.executeThenClose { inbound in
            let connection = Connection(
                channel: bytes.channel, peer: try await bytes.channel.peer(), service: service,
                hub: hub, lingering: limits.lingering)
            if count > limits.connections {
                try await connection.refuse(ProtocolError(.busy, "the agent serves as many connections as it may"))
            } else {
                try await connection.run(inbound)
            }
        }
    }
}

private typealias ByteChannel = NIOAsyncChannel<ByteBuffer, Never>
