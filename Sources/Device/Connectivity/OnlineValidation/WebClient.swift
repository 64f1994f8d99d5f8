import AgentModel
import NIOCore
import NIOSSL

/// Asks the web one thing at a time, of servers that nobody trusts: every answer has its limits (``WebLimits``), nothing
/// is unpacked, no redirection is followed, and the connection ends with the answer.
public struct WebClient: Sendable {
    /// Whose certificates are trusted.
    public enum Authorities: Sendable {
        /// Those of the system, such as `/etc/ssl/certs`.
        case system
        /// Those in a PEM file.
        case file(String)
    }

    private let trust: LoadedAuthorities

    public init(trusting authorities: Authorities = .system) { trust = LoadedAuthorities(authorities) }

    /// - Throws: `WebFailure`. An answer of whatever status is none.
    public func fetch(
        _ request: WebRequest, through network: InterfaceNetwork, limits: WebLimits
    ) async throws(WebFailure) -> WebAnswer {
        try await exchange(request, through: network, limits: limits).result.get()
    }

    func exchange(_ request: WebRequest, through network: InterfaceNetwork, limits: WebLimits) async -> WebExchange {
        let end = NIODeadline.now() + TimeAmount(limits.time)
        let (exchanges, finished) = AsyncStream<WebExchange>.makeStream(bufferingPolicy: .bufferingOldest(1))
        do {
            let tls = try request.address.scheme == .https ? trust.context : nil
            let channel = try await Self.connect(
                request, through: network, limits: limits, tls: tls, finished: finished)
            let timer = channel.eventLoop.scheduleTask(deadline: end) {
                channel.pipeline.fireErrorCaught(WebFailure.timedOut)
            }
            defer {
                timer.cancel()
                channel.close(promise: nil)
            }
            return await exchanges.first { _ in true } ?? .cancelled
        } catch {
            return WebExchange(result: .failure(error), bytes: 0)
        }
    }

    private static func connect(
        _ request: WebRequest, through network: InterfaceNetwork, limits: WebLimits, tls: NIOSSLContext?,
        finished: AsyncStream<WebExchange>.Continuation
    ) async throws(WebFailure) -> any Channel {
        let address = request.address
        do throws(ConnectFailure) {
            return try await network.connect(host: address.host, port: address.port, within: limits.time) { channel in
                try channel.syncOptions?.setOption(.recvAllocator, value: WebLimits.readAllocator)
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addWebHandlers(for: address, limits: limits, tls: tls) { finished.yield($0) }
                pipeline.write(request)
            }
        } catch {
            throw error == .cancelled ? .cancelled : .notReached(error.problem)
        }
    }
}

extension WebExchange {
    /// There is no other one only where the task was cancelled.
    fileprivate static let cancelled = WebExchange(result: .failure(.cancelled), bytes: 0)
}
