import AgentModel
import AppProtocol
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Serves the app protocol on a Unix socket and, over TLS, to the network.
///
/// Reads a connection's next request after it has sent the previous answer. A flooding or slow client therefore delays
/// only itself.
public final class AppServer: Sendable {
    private let socket: ServerSocketFile
    private let access: LocalAccess
    private let lan: LANListener?
    private let service: any DeviceService
    private let names: NetworkNames
    private let hub: EventHub
    private let limits: Limits
    private let clock: ServerClock
    private let loop: any EventLoop
    private let notify: @Sendable (Notice) -> Void
    private let running = Mutex<Running?>(nil)
    /// Rate limit of `refused` notices.
    private let refusalNotices = Mutex(TokenBucket(1, per: .seconds(10), burst: 10))
    /// Counts the served clients of the Unix socket, and the refused ones that still receive their error.
    private let (served, refused) = (ConnectionCounter(), ConnectionCounter())

    /// - Parameters:
    ///   - lan: port for apps in the network; nil for none.
    ///   - service: answers all requests except `events.subscribe`.
    ///   - names: network names, used instead of hashes in messages over relays.
    ///   - loop: serves the connections. It must run until the server has stopped.
    ///   - notify: called for connection events. It must not block.
    public init(
        unix: UnixListenerSettings, lan: LANListenerSettings? = nil, service: any DeviceService, hub: EventHub,
        names: NetworkNames = NetworkNames(),
        limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock(),
        on loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next(),
        notify: @escaping @Sendable (Notice) -> Void = { _ in }
    ) {
        let clock = ServerClock(clock)
        let group = unix.group ?? getegid()
        socket = ServerSocketFile(path: unix.path, mode: unix.effectiveMode, group: group)
        access = LocalAccess(ownUser: geteuid(), group: group, readers: unix.readers, relays: unix.relays)
        self.names = names
        self.lan = lan.map { LANListener($0, limits: limits.lan, clock: clock, notify: notify) }
        self.clock = clock
        self.loop = loop
        self.notify = notify
        self.service = service
        self.hub = hub
        self.limits = limits
    }

    /// TCP port for apps in the network; nil while the network listener is closed.
    public var lanPort: Int? { running.withLock { $0?.lanListener?.localAddress?.port } }

    /// Closes the connections whose local address the device no longer has.
    /// - Parameter addresses: all current addresses in text form.
    public func addressesChanged(to addresses: Set<String>) {
        lan?.addressesChanged(to: Set(addresses.compactMap { IPAddress($0) }))
    }

    /// Number of open network connections by key.
    public var sessions: [KeyName: Int] { lan?.sessions ?? [:] }

    public func endSessions(of key: KeyName) { lan?.endSessions(of: key) }

    /// Starts the listeners, and returns when they accept connections. Replaces a stale socket file.
    /// - Parameter inNetwork: false to open only the Unix socket until `startInNetwork`.
    public func start(inNetwork: Bool = true) async throws(AppServerError) {
        let place = try socket.claim()
        let (local, remote) = (ConnectionTasks(on: loop), ConnectionTasks(on: loop))
        var listeners: [any Channel] = []
        do throws(AppServerError) {
            let unixListener = try await listen(at: place, local)
            listeners.append(unixListener)
            let lanListener = inNetwork ? try await lan?.listen(on: loop) { self.welcome($0, remote) } : nil
            if let lanListener { listeners.append(lanListener) }
            let file = try socket.publish(place)
            running.withLock {
                $0 = Running(
                    unixListener: unixListener, lanListener: lanListener, local: local, remote: remote, file: file)
            }
        } catch {
            for listener in listeners { try? await listener.close() }
            lan?.closeRest()
            throw error
        }
    }

    /// Starts the network listener, unless it is open or not configured, or the server is stopped.
    /// - Throws: an error if the port cannot be opened, for example because another program uses it. Retry later.
    public func startInNetwork() async throws(AppServerError) {
        let remote = running.withLock { $0.flatMap { $0.lanListener == nil ? $0.remote : nil } }
        guard let lan, let remote else { return }
        let listener = try await lan.listen(on: loop) { self.welcome($0, remote) }
        let isTaken = running.withLock { running in
            guard running?.remote === remote, running?.lanListener == nil else { return false }
            running?.lanListener = listener
            return true
        }
        if !isTaken { try? await listener.close() }
    }

    /// Closes the listeners and every connection, and removes the socket file.
    public func stop() async {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        socket.remove(running.file)
        try? await running.unixListener.close()
        try? await running.lanListener?.close()
        lan?.stopWatching()
        await running.local.stop()
        await running.remote.stop()
        lan?.closeRest()
    }

    private struct Running {
        let unixListener: any Channel
        var lanListener: (any Channel)?
        let local: ConnectionTasks
        let remote: ConnectionTasks
        let file: ServerSocketFile.Identity
    }

    private func listen(at path: String, _ connections: ConnectionTasks) async throws(AppServerError) -> any Channel {
        do {
            return try await ServerBootstrap(group: loop)
                .serverChannelOption(.backlog, value: 128)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.acceptThroughShortage()
                    }
                }
                .childChannelOptions()
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let process = try channel.pipeline.syncOperations.peerProcess()
                        let bytes = try ByteChannel(wrapping: channel)
                        connections.start { await self.serve(bytes, process) }
                    }
                }
                .bind(unixDomainSocketPath: path).get()
        } catch let error as IOError {
            throw .system(SystemError("listen on \(path)", errno: error.errnoCode))
        } catch {
            throw .system(SystemError("listen on \(path)", errno: 0))
        }
    }

    private func serve(_ bytes: ByteChannel, _ process: ProcessCredentials) async {
        let role = access.role(of: process)
        let peer = Peer(
            origin: .process(pid: process.pid, uid: process.uid, gid: process.gid), role: role ?? .see,
            isRelay: access.isRelay(process))
        guard let role else { return await serve(bytes, peer, session: nil, refusal: .notPermitted) }
        guard served.enter(limit: role.share(of: limits.connections)) else {
            return await serve(bytes, peer, session: nil, refusal: .tooManyConnections)
        }
        await serve(bytes, peer, session: nil, refusal: nil)
        served.leave()
    }

    private func welcome(_ client: LANListener.Client, _ connections: ConnectionTasks) {
        do {
            let bytes = try ByteChannel(wrapping: client.channel)
            connections.start {
                await self.serve(
                    bytes, client.peer, session: client.session, refusal: client.hasRoom ? nil : .tooManyConnections)
            }
        } catch {
            client.channel.close(promise: nil)
        }
    }

    /// Serves a connection. Errors end only this connection.
    private func serve(_ bytes: ByteChannel, _ peer: Peer, session: RemoteSession?, refusal: Refusal?) async {
        if let refusal {
            if refusalNotices.withLock({ $0.consumeIfReady(at: clock.now) }) { notify(.refused(peer, refusal)) }
        } else {
            notify(.opened(peer))
        }
        try? await bytes.executeThenClose { inbound in
            let connection = Connection(
                channel: bytes.channel, peer: peer, names: names, service: service, hub: hub,
                lingering: limits.lingering,
                clock: clock, session: session)
            if let refusal {
                try await connection.refuse(refusal.error)
                // Over TLS, NIO already waits for the client's close message.
                guard session == nil, refused.enter(limit: limits.farewells) else { return }
                defer { refused.leave() }
                try await connection.drain(inbound)
            } else {
                try await connection.run(inbound)
            }
        }
    }
}

extension AppServer.Refusal {
    fileprivate var error: ProtocolError {
        switch self {
        case .tooManyConnections: ProtocolError(.busy, "the agent has too many connections: try again later")
        case .notPermitted: ProtocolError(.notPermitted, "this user may not connect to the agent")
        }
    }
}

extension ChannelPipeline.SynchronousOperations {
    fileprivate func peerProcess() throws -> ProcessCredentials {
        let process = try withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            ProcessCredentials(peerOf: $0)
        }
        guard let process = process ?? nil else { throw ChannelError.operationUnsupported }
        return process
    }
}

private typealias ByteChannel = NIOAsyncChannel<ByteBuffer, Never>

extension ByteChannel {
    fileprivate init(wrapping channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(ReadBytesWiper())
        try self.init(
            wrappingChannelSynchronously: channel,
            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
    }
}
