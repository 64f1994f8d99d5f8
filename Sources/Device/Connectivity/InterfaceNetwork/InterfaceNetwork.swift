import AgentModel
import DNS
import NIOCore
import NIOPosix
import Synchronization

/// The network of one interface: resolves names and connects through it, independent of the routing table.
///
/// One event loop does all the work. Ignores /etc/hosts and multicast DNS (`.local`).
public struct InterfaceNetwork: Sendable {
    private let way: BoundLoop
    private let reader: AnnouncementReader
    private let names: NameResolver

    /// Name of the interface; nil for the default route.
    public var interface: String? { way.interface }

    /// - Parameters:
    ///   - group: one of its event loops does all the work.
    ///   - watch: notified before and after each file read.
    public init(
        interface: String?, on group: any EventLoopGroup, announcements source: AnnouncementSource = .system,
        watchedBy watch: any OutsideWatch = NoOutsideWatch()
    ) {
        way = BoundLoop(interface: interface, loop: group.next())
        reader = AnnouncementReader(interface, from: source, on: way.loop, watchedBy: watch)
        names = NameResolver(way, reader)
    }

    /// Creates the network of an interface that another program configures. Asks the link's own name servers if
    /// systemd-networkd knows them, else those of `other`: through the interface, then by the path of `other`, because
    /// they may be in the network of another interface.
    public init(interface: String, namesFrom other: InterfaceNetwork) {
        way = BoundLoop(interface: interface, loop: other.way.loop)
        reader = AnnouncementReader(ofLink: interface, else: other.reader)
        names = NameResolver(way, reader, thenBy: other.way)
    }

    /// Name servers and portal API of the network; empty until known.
    public var announcements: NetworkAnnouncements { reader.announcements }

    /// Waits for announcements that are not empty, at most `limit`.
    public func announcements(within limit: Duration) async -> NetworkAnnouncements {
        await reader.announcements(until: way.loop.now + TimeAmount(limit)) { $0 != NetworkAnnouncements() }
    }

    /// Sets the announcements of a network whose source is `supplied`.
    public func setAnnouncements(_ announcements: NetworkAnnouncements) { reader.set(announcements) }

    /// Clears the DNS cache after a change of the network.
    public func forget() { names.forget() }
}

extension InterfaceNetwork {
    /// Wait for the other address family after the first answer.
    private static let grace = Duration.milliseconds(500)

    private enum Found: Sendable {
        case addresses([IPAddress], DNSRecordType)
        case failure(NameFailure)
        case graceOver
    }

    /// - Parameter host: a name, or an address, which is returned at once.
    /// - Returns: at least one address, IPv6 first.
    public func addresses(of host: String, within limit: Duration) async throws(NameFailure) -> [IPAddress] {
        let host = try Host(host)
        let found = await withTaskGroup(of: Found.self, returning: Result<[IPAddress], NameFailure>.self) { group in
            for type in [DNSRecordType.ipv6, .ipv4] {
                group.addTask { [names] in
                    do throws(NameFailure) {
                        return .addresses(try await names.addresses(type, of: host, within: limit), type)
                    } catch {
                        return .failure(error)
                    }
                }
            }
            defer { group.cancelAll() }
            var addresses: [DNSRecordType: [IPAddress]] = [:]
            var failures: [NameFailure] = []
            while addresses.count + failures.count < 2, let next = await group.next() {
                switch next {
                case .addresses(let some, let type):
                    addresses[type] = some
                    if !some.isEmpty, addresses.count + failures.count < 2 {
                        group.addTask { [loop = way.loop] in
                            await loop.sleep(for: TimeAmount(Self.grace))
                            return .graceOver
                        }
                    }
                case .failure(let failure): failures.append(failure)
                case .graceOver: failures.append(.silent)
                }
            }
            let all = addresses[.ipv6, default: []] + addresses[.ipv4, default: []]
            let unanswered = Array(repeating: NameFailure.noAddress, count: addresses.count) + failures
            return all.isEmpty ? .failure(NameFailure(ofBoth: unanswered)) : .success(all)
        }
        return try found.get()
    }

    /// Connects to the first of the host's addresses that answers (RFC 8305).
    /// - Parameters:
    ///   - port: 1 to 65535.
    ///   - limit: time for name and connection together.
    ///   - setUp: called once on the channel's loop before the first read. Its handlers receive all events, even if the
    ///     channel is closed when this returns.
    /// - Throws: the most specific failure of all addresses. Own addresses of this machine fail with `ownAddress`,
    ///   unless the interface is `lo` or nil.
    public func connect(
        host: String, port: Int, within limit: Duration,
        setUp: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws(ConnectFailure) -> any Channel {
        let target: Host
        do throws(NameFailure) { target = try Host(host) } catch { throw .name(error) }
        guard (1...65_535).contains(port) else { throw .name(.invalid) }
        // Leaves time to report name failures.
        let attempts = ConnectAttempts(to: target, names, on: way.loop, within: limit * 0.9)
        let channel: any Channel
        do {
            channel = try await withTaskCancellationHandler {
                // Sets up on the loop before it polls the kernel: NIO reads the end of input at once, regardless of
                // `autoRead`.
                try await way.loop.flatSubmit {
                    connect(host, port, limit, attempts).flatMap { channel in
                        channel.eventLoop.submit {
                            try Self.begin(channel, setUp)
                            return channel
                        }
                    }
                }.get()
            } onCancel: {
                attempts.cancel()
            }
        } catch {
            throw Task.isCancelled ? .cancelled : error as? ConnectFailure ?? attempts.failure
        }
        guard !Task.isCancelled else {
            channel.close(promise: nil)
            throw .cancelled
        }
        return channel
    }

    private static func begin(
        _ channel: any Channel, _ setUp: (any Channel) throws -> Void
    ) throws(ConnectFailure) {
        guard channel.isActive else { throw .reset }
        do {
            try setUp(channel)
        } catch {
            channel.close(promise: nil)
            throw .setUp("\(error)")
        }
        // Ignores an error, which occurs only if the handlers have closed the channel.
        try? channel.syncOptions?.setOption(.autoRead, value: true)
    }

    /// Connects to an address. NIO may try several at once. Only the connection that wins reads data.
    private func connect(
        _ host: String, _ port: Int, _ limit: Duration, _ attempts: ConnectAttempts
    ) -> EventLoopFuture<any Channel> {
        ClientBootstrap(group: way.loop)
            .resolver(attempts)
            .connectTimeout(TimeAmount(limit))
            .channelOption(.autoRead, value: false)
            .channelInitializer { [way] channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(InterfaceBinding(to: way.interface))
                    try pipeline.addHandler(OwnAddressRefusal(way.interface))
                    try pipeline.addHandler(AttemptWatch(attempts))
                }
            }
            .connect(host: host, port: port)
    }
}

/// The attempts to connect to one host, and their failures. NIO schedules the addresses (RFC 8305).
final class ConnectAttempts: Resolver, Sendable {
    private let names: NameResolver
    private let loop: any EventLoop
    private let host: Host
    private let limit: Duration
    private let record = Mutex(Record())

    private struct Record {
        var queries: [Task<Void, Never>] = []
        var nameFailures: [NameFailure] = []
        /// Failure of each attempt; `timedOut` until another is known.
        var attempts: [ConnectFailure] = []
        var channels: [any Channel] = []
        var isCancelled = false
    }

    init(to host: Host, _ names: NameResolver, on loop: any EventLoop, within limit: Duration) {
        self.host = host
        self.names = names
        self.loop = loop
        self.limit = limit
    }

    func initiateAQuery(host _: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(.ipv4, port) }

    func initiateAAAAQuery(host _: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(.ipv6, port) }

    func cancelQueries() {
        for query in record.withLock({ $0.queries }) { query.cancel() }
    }

    private func query(_ type: DNSRecordType, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
        if case .address(let address) = host {
            return loop.makeCompletedFuture {
                address.isIPv4 == (type == .ipv4) ? [try SocketAddress(address, port: port)] : []
            }
        }
        let promise = loop.makePromise(of: [SocketAddress].self)
        let query = Task { [self] in
            do throws(NameFailure) {
                let addresses = try await names.addresses(type, of: host, within: limit)
                if addresses.isEmpty { record(.noAddress) }
                promise.succeed(addresses.compactMap { try? SocketAddress($0, port: port) })
            } catch {
                // NIO cancels queries at the time limit.
                record(error == .cancelled ? .silent : error)
                promise.fail(error)
            }
        }
        record.withLock { $0.queries.append(query) }
        return promise.futureResult
    }

    private func record(_ failure: NameFailure) { record.withLock { $0.nameFailures.append(failure) } }

    /// - Returns: the attempt's number; nil after cancellation.
    func begin(_ channel: any Channel) -> Int? {
        record.withLock {
            guard !$0.isCancelled else { return nil }
            $0.attempts.append(.timedOut)
            $0.channels.append(channel)
            return $0.attempts.count - 1
        }
    }

    func fail(_ attempt: Int, _ error: any Error) {
        // Ignores other errors: they come from cancelled tasks.
        guard error is IOError || error is ConnectFailure else { return }
        record.withLock { $0.attempts[attempt] = ConnectFailure(error) }
    }

    func cancel() {
        let channels = record.withLock {
            $0.isCancelled = true
            return $0.channels
        }
        cancelQueries()
        for channel in channels { channel.close(promise: nil) }
    }

    /// The most specific failure of the attempts. Without any attempt, the failure of the name.
    var failure: ConnectFailure {
        record.withLock { record in
            if let failure = record.attempts.max(by: { $0.weight < $1.weight }) { return failure }
            guard case .name = host else { return .timedOut }
            return .name(NameFailure(ofBoth: record.nameFailures))
        }
    }
}

extension NameFailure {
    init(ofBoth failures: [NameFailure]) {
        self =
            failures.count < 2
            ? failures.first { $0 != .noAddress } ?? .silent
            : failures.first { $0 == .unknownName } ?? failures.first { $0 != .noAddress } ?? .noAddress
    }
}

final class AttemptWatch: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = Never

    private let attempts: ConnectAttempts

    init(_ attempts: ConnectAttempts) { self.attempts = attempts }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        guard let attempt = attempts.begin(context.channel) else {
            promise?.fail(ChannelError.eof)
            return
        }
        let watched = promise ?? context.eventLoop.makePromise()
        watched.futureResult.assumeIsolated().whenComplete { [attempts] result in
            switch result {
            case .success: context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            case .failure(let error): attempts.fail(attempt, error)
            }
        }
        context.connect(to: address, promise: watched)
    }
}
