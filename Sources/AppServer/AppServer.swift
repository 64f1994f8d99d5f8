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
    private let service: any DeviceService
    private let hub: EventHub
    private let limits: Limits
    private let running = Mutex<Running?>(nil)
    private let openConnections = Atomic(0)

    /// - Parameters:
    ///   - socketPath: where to listen; the folder must exist.
    ///   - mode: the socket file's permissions.
    ///   - service: answers everything but `events.subscribe`, which `hub` does.
    public init(
        socketPath: String, mode: UInt32 = 0o660, service: any DeviceService, hub: EventHub, limits: Limits = Limits()
    ) {
        socket = ServerSocketFile(path: socketPath, mode: mode)
        self.service = service
        self.hub = hub
        self.limits = limits
    }

    /// Returns once the socket accepts connections. A socket file that a dead process left behind is replaced.
    public func start() async throws(AppServerError) {
        let place = try socket.claim()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let listener = try await listen(at: place, on: group)
            let file = try socket.publish(place)
            let accepting = Task { await self.accept(from: listener) }
            running.withLock {
                $0 = Running(group: group, listener: listener.channel, accepting: accepting, file: file)
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
        running.accepting.cancel()
        await running.accepting.value
        try? await running.group.shutdownGracefully()
    }

    private struct Running {
        let group: MultiThreadedEventLoopGroup
        let listener: any Channel
        let accepting: Task<Void, Never>
        let file: ServerSocketFile.Identity
    }

    private typealias Connections = NIOAsyncChannel<ByteChannel, Never>

    private func listen(at path: String, on group: MultiThreadedEventLoopGroup) async throws(AppServerError)
        -> Connections
    {
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
                .bind(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try ByteChannel(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
                    }
                }
        } catch let error as IOError {
            throw .system(attempted: "listen on", path: path, errno: error.errnoCode)
        } catch {
            throw .system(attempted: "listen on", path: path, errno: 0)
        }
    }

    private func accept(from listener: Connections) async {
        // An error of the listener itself cannot be repaired here; those of single connections never reach it.
        try? await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await channel in connections {
                    let count = openConnections.add(1, ordering: .relaxed).newValue
                    group.addTask {
                        await self.serve(channel, isOverLimit: count > self.limits.connections)
                        self.openConnections.subtract(1, ordering: .relaxed)
                    }
                }
                group.cancelAll()
            }
        }
    }

    /// Errors end only this connection: its client has gone.
    private func serve(_ channel: ByteChannel, isOverLimit: Bool) async {
        try? await channel.executeThenClose { inbound, outbound in
            let peer = try await channel.channel.peer()
            let connection = Connection(
                channel: channel.channel, outbound: outbound, peer: peer, service: service, hub: hub,
                lingering: limits.lingering)
            if isOverLimit {
                try await connection.refuse(ProtocolError(.busy, "the agent serves as many connections as it may"))
            } else {
                try await connection.run(inbound)
            }
        }
    }
}

typealias ByteChannel = NIOAsyncChannel<ByteBuffer, ByteBuffer>
