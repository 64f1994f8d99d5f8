import AgentModel
import DNS
import NIOCore
import NIOPosix
import Synchronization

/// One interface's network: names are resolved and connections are made through it, whatever route the machine prefers.
///
/// Nothing here blocks: all of it is done by sockets of one event loop. Names are resolved by the network's own name
/// servers alone: /etc/hosts and the names of multicast DNS (`.local`) are not looked at.
public struct InterfaceNetwork: Sendable {
    private let way: BoundLoop
    private let reader: NoteReader
    private let names: NameResolver

    /// Nil for the way that the machine prefers.
    public var interface: String? { way.interface }

    /// - Parameters:
    ///   - group: all of this network's work is done on one loop of it.
    ///   - source: of its name servers.
    ///   - watch: knows when a file is being read.
    public init(
        interface: String?, on group: any EventLoopGroup, notes source: NoteSource = .system,
        watchedBy watch: any OutsideWatch = NoOutsideWatch()
    ) {
        way = BoundLoop(interface: interface, loop: group.next())
        reader = NoteReader(interface, from: source, on: way.loop, watchedBy: watch)
        names = NameResolver(way, reader)
    }

    /// What the network has told the device; nothing if it has not done so yet.
    public var notes: NetworkNotes { reader.notes }

    /// The same, as soon as there is anything, or nothing after this time.
    public func notes(within limit: Duration) async -> NetworkNotes {
        await reader.notes(until: way.loop.now + TimeAmount(limit)) { $0 != NetworkNotes() }
    }

    /// The network tells this from now on. For a network with the source ``NoteSource/told``.
    public func tell(_ notes: NetworkNotes) { reader.tell(notes) }

    /// Forgets what name servers said: the network is another one.
    public func forget() { names.forget() }
}

extension InterfaceNetwork {
    /// How long the addresses of one kind wait for those of the other.
    private static let grace = Duration.milliseconds(500)

    private enum Found: Sendable {
        case addresses([IPAddress], DNSRecordType)
        case failure(NameFailure)
        case graceOver
    }

    /// - Parameter host: a name, or an address, which is returned at once.
    /// - Returns: at least one address, those of IPv6 first.
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
    ///
    /// - Parameters:
    ///   - port: 1 to 65535.
    ///   - limit: for the name and the connection together.
    ///   - setUp: is called once, on the loop of the channel that is connected, before anything is read from it. It
    ///     adds handlers (TLS, HTTP) to `channel.pipeline.syncOperations` and may set options by `channel.syncOptions`.
    ///     From then on they are told all that happens: the channel that is returned may be closed by then.
    /// - Throws: of several addresses' failures the most telling one: a refusal rather than silence. With an interface
    ///   other than `lo` this machine's own addresses are refused (`ownAddress`), given or resolved.
    public func connect(
        host: String, port: Int, within limit: Duration,
        setUp: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws(ConnectFailure) -> any Channel {
        let target: Host
        do throws(NameFailure) { target = try Host(host) } catch { throw .name(error) }
        guard (1...65_535).contains(port) else { throw .name(.invalid) }
        // So that it is known what name servers did not say before all of the time is over.
        let attempts = ConnectAttempts(to: target, names, on: way.loop, within: limit * 0.9)
        let channel: any Channel
        do {
            channel = try await withTaskCancellationHandler {
                // All on the loop, and still before it asks the kernel for news: the end of what the other side says is
                // read at once, with all that is before it, whatever `autoRead` says.
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
        // Fails only where the handlers have closed the channel: then they know more than could be said here.
        try? channel.syncOptions?.setOption(.autoRead, value: true)
    }

    /// Of the addresses of one host several may be tried at once; none is read from before it has won.
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

/// The attempts to connect to one host, and the results of its name servers and of each address.
/// NIO decides which address has its turn when (RFC 8305) and asks here for the addresses.
final class ConnectAttempts: Resolver, Sendable {
    private let names: NameResolver
    private let loop: any EventLoop
    private let host: Host
    private let limit: Duration
    private let record = Mutex(Record())

    private struct Record {
        var queries: [Task<Void, Never>] = []
        var nameFailures: [NameFailure] = []
        /// By attempt: what is to be said of it, as long as nothing else is known.
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
                if addresses.isEmpty { note(.noAddress) }
                promise.succeed(addresses.compactMap { try? SocketAddress($0, port: port) })
            } catch {
                // NIO asks no longer when the time is over.
                note(error == .cancelled ? .silent : error)
                promise.fail(error)
            }
        }
        record.withLock { $0.queries.append(query) }
        return promise.futureResult
    }

    private func note(_ failure: NameFailure) { record.withLock { $0.nameFailures.append(failure) } }

    /// - Returns: the attempt's number; nil if there are to be no more attempts.
    func begin(_ channel: any Channel) -> Int? {
        record.withLock {
            guard !$0.isCancelled else { return nil }
            $0.attempts.append(.timedOut)
            $0.channels.append(channel)
            return $0.attempts.count - 1
        }
    }

    func fail(_ attempt: Int, _ error: any Error) {
        // Anything else is a cancelled task.
        guard error is IOError || error is ConnectFailure else { return }
        record.withLock { $0.attempts[attempt] = ConnectFailure(error) }
    }

    /// Nothing more is to be waited for.
    func cancel() {
        let channels = record.withLock {
            $0.isCancelled = true
            return $0.channels
        }
        cancelQueries()
        for channel in channels { channel.close(promise: nil) }
    }

    /// The most specific failure: a host that refuses has been reached, and where no address could be tried it was for
    /// the name.
    var failure: ConnectFailure {
        record.withLock { record in
            if let failure = record.attempts.max(by: { $0.weight < $1.weight }) { return failure }
            guard case .name = host else { return .timedOut }
            return .name(NameFailure(ofBoth: record.nameFailures))
        }
    }
}

extension NameFailure {
    /// - Parameter failures: of the questions for both kinds of address, as far as they were answered.
    init(ofBoth failures: [NameFailure]) {
        self =
            failures.count < 2
            ? failures.first { $0 != .noAddress } ?? .silent
            : failures.first { $0 == .unknownName } ?? failures.first { $0 != .noAddress } ?? .noAddress
    }
}

/// Notes what becomes of one attempt.
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
