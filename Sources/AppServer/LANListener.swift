import AppProtocol
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Accepts connections from the network and hands on those whose clients have the device's key.
final class LANListener: Sendable {
    /// A client that has shown the key.
    struct Client {
        let channel: any Channel
        let address: IPAddress
        let port: Int
        /// Whether it may stay.
        let hasRoom: Bool
        /// To be called when it has left.
        let leave: @Sendable () -> Void
    }

    private struct State {
        var admission: Admission
        var channels: [Admission.Ticket: any Channel] = [:]
    }

    private let settings: LANListenerSettings
    private let limits: AppServer.LANLimits
    private let clock: ServerClock
    private let state: Mutex<State>

    init(_ settings: LANListenerSettings, limits: AppServer.LANLimits, clock: ServerClock) {
        self.settings = settings
        self.limits = limits
        self.clock = clock
        state = Mutex(State(admission: Admission(limits)))
    }

    /// - Parameter welcome: is called on the event loop for each client whose handshake has completed, before anything that
    ///   the client has sent is passed on.
    func listen(
        on eventLoop: any EventLoop, welcome: @escaping @Sendable (Client) -> Void
    ) async throws(AppServerError) -> any Channel {
        do {
            let tls = try await eventLoop.submit {
                NIOLoopBound(try PreSharedKeyTLS(self.settings.device, on: eventLoop), eventLoop: eventLoop)
            }.get()
            do {
                return try await bind("::", on: eventLoop, tls, welcome)
            } catch let error as IOError where error.errnoCode == EAFNOSUPPORT || error.errnoCode == EADDRNOTAVAIL {
                // A kernel without IPv6.
                return try await bind("0.0.0.0", on: eventLoop, tls, welcome)
            }
        } catch {
            throw .system(
                attempted: "listen on", path: "port \(settings.port)", errno: (error as? IOError)?.errnoCode ?? 0)
        }
    }

    /// Closes the connections to addresses that the device does not have any more.
    func addressesChanged(to addresses: Set<IPAddress>) {
        let channels = state.withLock { Array($0.channels.values) }
        for channel in channels {
            guard let local = channel.localAddress.flatMap({ IPAddress($0) }), !local.isLoopback else { continue }
            if !addresses.contains(local) { channel.close(promise: nil) }
        }
    }

    private func bind(
        _ address: String, on eventLoop: any EventLoop, _ tls: NIOLoopBound<PreSharedKeyTLS>,
        _ welcome: @escaping @Sendable (Client) -> Void
    ) async throws -> any Channel {
        let address = try SocketAddress(ipAddress: address, port: settings.port)
        return try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOptions()
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
        _ channel: any Channel, _ tls: PreSharedKeyTLS, _ welcome: @escaping @Sendable (Client) -> Void
    ) throws {
        // A client that has gone already has no address any more.
        guard let remote = channel.remoteAddress, let address = IPAddress(remote) else {
            throw ChannelError.inappropriateOperationForState
        }
        let (arrival, displaced) = state.withLock { state in
            let arrival = state.admission.arrive(from: address.site, at: clock.now)
            guard case .admitted(let ticket, _, let displaced) = arrival else { return (arrival, nil as (any Channel)?) }
            state.channels[ticket] = channel
            return (arrival, displaced.flatMap { state.channels.removeValue(forKey: $0) })
        }
        displaced?.close(promise: nil)
        guard case .admitted(let ticket, let delay, _) = arrival else { throw ChannelError.operationUnsupported }
        let (observer, ssl) = tls.handlers()
        let pipeline = channel.pipeline.syncOperations
        let handshake = HandshakeHandler(
            delay: delay, limit: limits.handshakeTime, clock: clock, observer: observer
        ) { step in
            switch step {
            case .begun: self.state.withLock { $0.admission.begin(ticket) }
            case .failed(let failure): self.end(ticket, failure)
            case .completed:
                let hasRoom = self.state.withLock { $0.admission.complete(ticket) }
                welcome(
                    Client(channel: channel, address: address, port: remote.port ?? 0, hasRoom: hasRoom) {
                        self.leave(ticket)
                    })
            }
        }
        do {
            try pipeline.addHandlers([observer, ssl, handshake])
        } catch {
            leave(ticket)
            throw error
        }
    }

    private func end(_ ticket: Admission.Ticket, _ failure: HandshakeFailure) {
        state.withLock { state in
            switch failure {
            case .wrongKey, .unknownDevice: _ = state.admission.recordWrongKey(ticket, at: clock.now)
            case .notUnderstood, .tookTooLong, .gone: state.admission.leave(ticket)
            }
            state.channels[ticket] = nil
        }
    }

    private func leave(_ ticket: Admission.Ticket) {
        state.withLock { state in
            state.admission.leave(ticket)
            state.channels[ticket] = nil
        }
    }
}
