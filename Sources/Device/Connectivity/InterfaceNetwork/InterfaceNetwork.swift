import AgentModel
import DNS
import NIOCore
import NIOPosix

/// One interface's network: names are resolved and connections are made through it, whatever route the machine prefers.
///
/// Nothing here blocks: all of it is done by sockets of one event loop. Names are resolved by the network's own name
/// servers and nobody else: /etc/hosts and the names of multicast DNS (`.local`) are not looked at.
public struct InterfaceNetwork: Sendable {
    private let way: BoundLoop
    private let reader: NoteReader
    private let names: NameResolver

    /// Nil for the way that the machine prefers.
    public var interface: String? { way.interface }

    /// - Parameters:
    ///   - group: all of this network's work is done on one loop of it.
    ///   - files: where it says which name servers there are.
    ///   - watch: knows when those are being read.
    public init(
        interface: String?, on group: any EventLoopGroup, files: NoteFiles = .system,
        watchedBy watch: any OutsideWatch = NoOutsideWatch()
    ) {
        way = BoundLoop(interface: interface, loop: group.next())
        reader = NoteReader(interface, files, watchedBy: watch)
        names = NameResolver(way, reader)
    }

    /// What the DHCP client told of this network; nothing if it has not done so yet.
    public var notes: NetworkNotes { reader.notes }

    /// The same, as soon as there is anything, or nothing after this time.
    public func notes(within limit: Duration) async -> NetworkNotes {
        await reader.notes(until: .now() + TimeAmount(limit)) { $0 != NetworkNotes() }
    }

    /// The interface is about to join a network. Before, for the DHCP client may be quick.
    /// - Parameter isAnother: than it was in: what is noted by now is not about the new one, however long the DHCP client
    ///   may take to notice.
    public func willJoin(another isAnother: Bool) { reader.disregardNotes(isAnother) }

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
                        group.addTask {
                            try? await Task.sleep(for: Self.grace)
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
    ///   - setUp: is called once, on the loop of the channel that is connected, before anything is read from it. It adds
    ///     handlers (TLS, HTTP) to `channel.pipeline.syncOperations` and may set options by `channel.syncOptions`. From
    ///     then on they are told all that happens: the channel that is returned may be closed by then.
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
