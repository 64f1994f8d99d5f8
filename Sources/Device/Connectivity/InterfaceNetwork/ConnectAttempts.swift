import AgentModel
import DNS
import NIOCore
import NIOPosix
import Synchronization

/// What becomes of the attempts to connect to one host: what its name servers say, and what each of its addresses says.
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
        // Anything else is that nobody waits for it any longer.
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

    /// The most telling of what befell them: whoever refuses has been reached, and where nobody could be tried it was for
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
