import AgentModel
import AppProtocol
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Accepts network connections and forwards clients with a proved key.
final class LANListener: Sendable {
    /// A client with a proved key.
    struct Client: Sendable {
        let channel: any Channel
        let peer: Peer
        let session: RemoteSession
        /// True if the connection limits allow the client.
        let hasRoom: Bool
    }

    private struct Link {
        let channel: any Channel
        let address: IPAddress
        let site: IPAddress.Site
        let port: Int
        var peer: Peer?
        /// True after the handshake's result has been reported.
        var isReported = false

        /// Closes at once, without TLS's close message: the peer may take 1 s to answer it.
        func abort() {
            channel.eventLoop.execute {
                let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
                // Closing from this context skips the TLS handler.
                tls?.close(promise: nil)
                channel.close(promise: nil)
            }
        }
    }

    private struct State {
        var admission: Admission
        var links: [Admission.Ticket: Link] = [:]
        /// Rate limit of the notices that any host can cause.
        var notices: TokenBucket
        var unreported = 0
    }

    private let settings: LANListenerSettings
    private let limits: AppServer.LANLimits
    private let rates: SiteRates
    private let reaper: ConnectionReaper
    private let clock: ServerClock
    private let notify: @Sendable (AppServer.Notice) -> Void
    private let state: Mutex<State>

    init(
        _ settings: LANListenerSettings, limits: AppServer.LANLimits, clock: ServerClock,
        notify: @escaping @Sendable (AppServer.Notice) -> Void
    ) {
        self.settings = settings
        self.limits = limits
        self.clock = clock
        self.notify = notify
        reaper = ConnectionReaper(limits, clock: clock)
        rates = SiteRates(limits.requestsPerAddress, maximum: 2 * limits.connections)
        state = Mutex(
            State(
                admission: Admission(limits),
                notices: TokenBucket(1, per: .seconds(10), burst: 10)))
    }

    /// - Parameter welcome: called on the event loop for each completed handshake, before later bytes are forwarded.
    func listen(
        on eventLoop: any EventLoop, welcome: @escaping @Sendable (Client) -> Void
    ) async throws(AppServerError) -> any Channel {
        do {
            let tls = try await eventLoop.submit {
                NIOLoopBound(try ServerTLS(self.settings.credentials, on: eventLoop), eventLoop: eventLoop)
            }.get()
            do {
                return try await bind("::", on: eventLoop, tls, welcome)
            } catch let error as IOError where error.errnoCode == EAFNOSUPPORT || error.errnoCode == EADDRNOTAVAIL {
                // The kernel has no IPv6.
                return try await bind("0.0.0.0", on: eventLoop, tls, welcome)
            }
        } catch {
            throw .system(SystemError("listen on port \(settings.port)", errno: (error as? IOError)?.errnoCode ?? 0))
        }
    }

    func addressesChanged(to addresses: Set<IPAddress>) {
        for link in state.withLock({ Array($0.links.values) }) {
            guard let local = link.channel.localAddress.flatMap({ IPAddress($0) }), !local.isLoopback,
                !addresses.contains(local)
            else { continue }
            if let peer = link.peer { notify(.dropped(peer, .addressGone)) }
            link.channel.close(promise: nil)
        }
    }

    var sessions: [KeyName: Int] {
        state.withLock { state in
            state.links.values.reduce(into: [:]) { counts, link in
                if let key = link.peer?.key { counts[key, default: 0] += 1 }
            }
        }
    }

    func endSessions(of key: KeyName) {
        for link in state.withLock({ Array($0.links.values) }) {
            guard let peer = link.peer, peer.key == key else { continue }
            notify(.dropped(peer, .keyEnded))
            link.channel.close(promise: nil)
        }
    }

    /// Stops the timeout checks. Call this before you close all connections.
    func stopWatching() { reaper.stop() }

    func closeRest() {
        for link in state.withLock({ Array($0.links.values) }) { link.channel.close(promise: nil) }
    }

    private func bind(
        _ address: String, on eventLoop: any EventLoop, _ tls: NIOLoopBound<ServerTLS>,
        _ welcome: @escaping @Sendable (Client) -> Void
    ) async throws -> any Channel {
        let address = try SocketAddress(ipAddress: address, port: settings.port)
        return try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOptions()
            .reachabilityOptions()
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if case .v6 = address {
                        try channel.syncOptions?.setOption(
                            ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 0)
                    }
                    try channel.pipeline.syncOperations.acceptThroughShortage()
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.receive(channel, tls.value, welcome) }
            }
            .bind(to: address).get()
    }

    private func receive(
        _ channel: any Channel, _ tls: ServerTLS, _ welcome: @escaping @Sendable (Client) -> Void
    ) throws {
        // A disconnected client has no address.
        guard let remote = channel.remoteAddress, let address = IPAddress(remote), let site = remote.site
        else { throw ChannelError.eof }
        let link = Link(channel: channel, address: address, site: site, port: remote.port ?? 0)
        guard let (ticket, delay) = admit(link) else {
            report(.crowdedOut, of: link)
            throw ChannelError.eof
        }
        channel.closeFuture.whenComplete { _ in self.leave(ticket) }
        let (observer, ssl) = tls.handlers()
        let handshake = HandshakeHandler(
            delay: delay, limit: limits.handshakeTime, clock: clock, credentials: settings.credentials,
            observer: observer
        ) { step in
            switch step {
            case .begun: self.state.withLock { $0.admission.begin(ticket) }
            case .failed(let failure): self.endHandshake(ticket, link, failure)
            case .completed(let key): welcome(self.complete(ticket, link, key))
            case .served(let result): self.served(ticket, link, result)
            }
        }
        if let observer { try channel.pipeline.syncOperations.addHandler(observer) }
        try channel.pipeline.syncOperations.addHandlers([ssl, handshake])
    }

    private func admit(_ link: Link) -> (Admission.Ticket, delay: Duration)? {
        let (admitted, displaced) = state.withLock { state -> ((Admission.Ticket, Duration)?, Link?) in
            guard
                case .admitted(let ticket, let delay, let displaced) = state.admission.arrive(
                    from: link.address, of: link.site, at: clock.now)
            else { return (nil, nil) }
            state.links[ticket] = link
            return ((ticket, delay), displaced.flatMap { state.links.removeValue(forKey: $0) })
        }
        if let displaced {
            if !displaced.isReported { report(.crowdedOut, of: displaced) }
            displaced.abort()
        }
        return admitted
    }

    private func complete(_ ticket: Admission.Ticket, _ link: Link, _ key: AppKey) -> Client {
        let peer = Peer(
            origin: .network(address: "\(link.address)", port: link.port), role: key.role, key: key.name,
            isInvited: key.isInvitation)
        let hasRoom = state.withLock { state in
            state.links[ticket]?.peer = peer
            return state.admission.complete(ticket, as: key.role)
        }
        let session = RemoteSession(from: link.site, rates: rates, limits: limits, clock: clock)
        reaper.watch(ticket, session) { reason in
            self.notify(.dropped(peer, reason))
            link.channel.close(promise: nil)
        }
        // The key may have been revoked since its lookup.
        if settings.credentials.keys.key(named: key.name)?.state != .valid { link.channel.close(promise: nil) }
        return Client(channel: link.channel, peer: peer, session: session, hasRoom: hasRoom)
    }

    private func endHandshake(_ ticket: Admission.Ticket, _ link: Link, _ failure: HandshakeFailure) {
        let isKnown = state.withLock { state in
            switch failure {
            case .wrongKey, .unknownDevice: state.admission.recordWrongKey(ticket, at: clock.now)
            case .notUnderstood, .tookTooLong, .crowdedOut, .gone, .endedKey: break
            }
            defer { state.links[ticket]?.isReported = true }
            return state.links[ticket] != nil
        }
        // Displaced connections are already reported.
        if isKnown { report(failure, of: link) }
    }

    private func served(_ ticket: Admission.Ticket, _ link: Link, _ result: BrowserResponse.KeyResult) {
        guard result != .wrong else { return endHandshake(ticket, link, .wrongKey) }
        state.withLock { state in
            if result == .right { state.admission.recordRightKey(ticket) }
            state.links[ticket]?.isReported = true
        }
    }

    private func leave(_ ticket: Admission.Ticket) {
        reaper.forget(ticket)
        state.withLock { state in
            state.admission.leave(ticket)
            state.links[ticket] = nil
        }
    }

    private func report(_ failure: HandshakeFailure, of link: Link) {
        let now = clock.now
        let turnedAway = state.withLock { state -> AppServer.RejectedConnection? in
            guard state.notices.consumeIfReady(at: now) else {
                state.unreported += 1
                return nil
            }
            defer { state.unreported = 0 }
            let (count, delay) = state.admission.wrongKeys(from: link.site, at: now)
            return AppServer.RejectedConnection(
                address: "\(link.address)", failure: failure, wrongKeys: count, delay: delay,
                unreported: state.unreported)
        }
        if let turnedAway { notify(.rejected(turnedAway)) }
    }
}

extension ServerBootstrap {
    func childChannelOptions() -> ServerBootstrap {
        // Read little at a time, so that unread bytes stay in the kernel.
        childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 16_384)
            )
            // `echo ... | nc -U` closes its sending half before it reads the answers.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
    }

    /// Detects a silent phone within a minute by keepalive (tcp(7)). A small send buffer gives slow subscribers a gap
    /// instead of old events. A small receive buffer limits the agent's memory.
    func reachabilityOptions() -> ServerBootstrap {
        let options = childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.socketOption(.so_sndbuf), value: 65_536)
            .childChannelOption(.socketOption(.so_rcvbuf), value: 32_768)
        return
            options
            .childChannelOption(.tcp(TCP_KEEPIDLE), value: 20)
            .childChannelOption(.tcp(TCP_KEEPINTVL), value: 10)
            .childChannelOption(.tcp(TCP_KEEPCNT), value: 3)
            .childChannelOption(.tcp(TCP_USER_TIMEOUT), value: 50_000)
    }
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
    fileprivate static func tcp(_ option: CInt) -> Self {
        Self(level: .tcp, name: NIOBSDSocket.Option(rawValue: option))
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Keeps the listener running when file descriptors run out: it accepts again after 1 s.
    func acceptThroughShortage() throws {
        try addHandler(AcceptBackoffHandler(shouldForwardIOErrorCaught: false), position: .first)
    }
}
