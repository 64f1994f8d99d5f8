import AppProtocol
import NIOCore
import NIOPosix
import Synchronization

/// Serves the app protocol on a Unix socket.
///
/// The requests of one connection are answered in their order, and the next one is not read before the last answer has
/// gone out: a client that floods or does not read holds up only itself, in bounded memory.
public final class AppServer: Sendable {
    private let socket: ServerSocketFile
    private let lan: LANListener?
    private let service: any DeviceService
    private let hub: EventHub
    private let limits: Limits
    private let running = Mutex<Running?>(nil)

    /// - Parameters:
    ///   - unix: where programs of this machine connect.
    ///   - lan: where apps in the network connect; nil if they may not.
    ///   - service: answers everything but `events.subscribe`, which `hub` does.
    ///   - clock: measures every limit of time.
    public init(
        unix: UnixListenerSettings, lan: LANListenerSettings? = nil, service: any DeviceService, hub: EventHub,
        limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock()
    ) {
        let clock = ServerClock(clock)
        socket = ServerSocketFile(path: unix.path, mode: unix.mode)
        self.lan = lan.map { LANListener($0, limits: limits.lan, clock: clock) }
        self.service = service
        self.hub = hub
        self.limits = limits
    }

    /// The port that apps in the network connect to; nil while the server does not run or has no such listener.
    public var lanPort: Int? { running.withLock { $0?.lanListener?.localAddress?.port } }

    /// The device's addresses have changed: whoever is connected to one that is gone is let go, for nothing arrives there
    /// any more.
    /// - Parameter addresses: all that the device has now, in text form.
    public func addressesChanged(to addresses: Set<String>) {
        lan?.addressesChanged(to: Set(addresses.compactMap { IPAddress($0) }))
    }

    /// Returns once the listeners accept connections. A socket file that a dead process left behind is replaced.
    public func start() async throws(AppServerError) {
        let place = try socket.claim()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let (local, remote) = (ConnectionTasks(), ConnectionTasks())
            let unixListener = try await listen(at: place, on: group, local)
            let lanListener = try await lan?.listen(on: group.next()) { self.welcome($0, remote) }
            let file = try socket.publish(place)
            running.withLock {
                $0 = Running(
                    group: group, unixListener: unixListener, lanListener: lanListener, local: local, remote: remote,
                    file: file)
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
        try? await running.unixListener.close()
        try? await running.lanListener?.close()
        await running.local.stop()
        await running.remote.stop()
        try? await running.group.shutdownGracefully()
    }

    private struct Running {
        let group: MultiThreadedEventLoopGroup
        let unixListener: any Channel
        let lanListener: (any Channel)?
        let local: ConnectionTasks
        let remote: ConnectionTasks
        let file: ServerSocketFile.Identity
    }

    private func listen(
        at path: String, on group: MultiThreadedEventLoopGroup, _ connections: ConnectionTasks
    ) async throws(AppServerError) -> any Channel {
        do {
            return try await ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 16)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.acceptThroughShortage()
                    }
                }
                .childChannelOptions()
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let bytes = try ByteChannel(wrapping: channel)
                        connections.start { count in
                            await self.serve(bytes, hasRoom: count <= self.limits.connections) {
                                try await channel.peer()
                            }
                        }
                    }
                }
                .bind(unixDomainSocketPath: path).get()
        } catch let error as IOError {
            throw .system(attempted: "listen on", path: path, errno: error.errnoCode)
        } catch {
            throw .system(attempted: "listen on", path: path, errno: 0)
        }
    }

    private func welcome(_ client: LANListener.Client, _ connections: ConnectionTasks) {
        do {
            let bytes = try ByteChannel(wrapping: client.channel)
            connections.start { _ in
                await self.serve(bytes, hasRoom: client.hasRoom) {
                    Peer(origin: .network(address: "\(client.address)", port: client.port), access: .full)
                }
                client.leave()
            }
        } catch {
            client.leave()
            client.channel.close(promise: nil)
        }
    }

    /// Errors end only this connection: its client has gone.
    private func serve(_ bytes: ByteChannel, hasRoom: Bool, _ peer: () async throws -> Peer) async {
        try? await bytes.executeThenClose { inbound in
            let connection = Connection(
                channel: bytes.channel, peer: try await peer(), service: service, hub: hub, lingering: limits.lingering)
            if hasRoom {
                try await connection.run(inbound)
            } else {
                try await connection.refuse(ProtocolError(.busy, "the agent serves as many connections as it may"))
            }
        }
    }
}

private typealias ByteChannel = NIOAsyncChannel<ByteBuffer, Never>

extension ByteChannel {
    fileprivate init(wrapping channel: any Channel) throws {
        try self.init(
            wrappingChannelSynchronously: channel,
            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
    }
}
