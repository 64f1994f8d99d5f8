import AgentModel
import AppProtocol
import NIOCore
import NIOSSL
import NIOTLS

/// Sees a connection through its TLS handshake: lets it begin after a delay, and ends it where it fails or takes too
/// long.
///
/// Its place is behind TLS. A handshake that is held is not read at all: the client's bytes stay in the kernel.
final class HandshakeHandler: ChannelInboundHandler, ChannelOutboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    enum Step {
        /// The delay is over.
        case begun
        /// The client has the key. Nothing it sent has been passed on yet.
        case completed
        case failed(HandshakeFailure)
    }

    private let delay: Duration
    private let limit: Duration
    private let clock: ServerClock
    private let observer: IdentityObserver
    private let report: (Step) -> Void
    private var isHeld: Bool
    private var isReadWanted = false
    private var isDecided = false
    private var timer: Task<Void, any Error>?

    /// - Parameter report: is told each step, on the event loop; `completed` or `failed` exactly once, and last.
    init(
        delay: Duration, limit: Duration, clock: ServerClock, observer: IdentityObserver,
        report: @escaping (Step) -> Void
    ) {
        self.delay = delay
        self.limit = limit
        self.clock = clock
        self.observer = observer
        self.report = report
        isHeld = delay > .zero
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let handler = NIOLoopBound((handler: self, context: context), eventLoop: loop)
        timer = Task { [clock, delay, limit] in
            if delay > .zero {
                try await clock.sleep(for: delay)
                loop.execute { handler.value.handler.begin(handler.value.context) }
            }
            try await clock.sleep(for: limit)
            loop.execute { handler.value.handler.fail(.tookTooLong, handler.value.context) }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { decide(.failed(.gone)) }

    func read(context: ChannelHandlerContext) {
        if isHeld {
            isReadWanted = true
        } else {
            context.read()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted = event else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        decide(.completed)
        // An open connection has no use for them, and is to take little memory.
        let pipeline = context.pipeline.syncOperations
        pipeline.removeHandler(observer, promise: nil)
        pipeline.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(failure(of: error), context)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        decide(.failed(.gone))
        context.fireChannelInactive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard !isDecided else { return }
        isHeld = false
        report(.begun)
        if isReadWanted { context.read() }
    }

    private func fail(_ failure: HandshakeFailure, _ context: ChannelHandlerContext) {
        guard !isDecided else { return }
        decide(.failed(failure))
        context.close(promise: nil)
    }

    private func decide(_ step: Step) {
        guard !isDecided else { return }
        isDecided = true
        timer?.cancel()
        timer = nil
        report(step)
    }

    private func failure(of error: any Error) -> HandshakeFailure {
        guard case NIOSSLError.handshakeFailed(let reason) = error, reason != .sslError([.eofDuringHandshake]) else {
            return .gone
        }
        return switch observer.identity {
        case .ours: .wrongKey
        case .unknown: .unknownDevice
        case nil: .notUnderstood
        }
    }
}

/// TLS 1.2 for those who have the device's key: ECDHE for forward secrecy, the key to prove each side to the other
/// (RFC 5489, RFC 7905), no certificates.
///
/// Confined to one event loop.
final class PreSharedKeyTLS {
    private let context: NIOSSLContext
    private let observed: NIOLoopBoundBox<IdentityObserver?>

    init(_ device: DeviceKey, on eventLoop: any EventLoop) throws {
        let observed = NIOLoopBoundBox<IdentityObserver?>(nil, eventLoop: eventLoop)
        // A wrong id leads as far as a wrong key, so that a client cannot tell the difference.
        var random = SystemRandomNumberGenerator()
        let decoy = Secret((0..<device.localKey.count).map { _ in UInt8.random(in: 0...255, using: &random) })
        var configuration = TLSConfiguration.makePreSharedKeyConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = .tlsv12
        configuration.cipherSuites = "ECDHE-PSK-CHACHA20-POLY1305"
        configuration.curves = [.x25519, .secp256r1]
        // How long a client is waited for that does not say goodbye when the server does.
        configuration.shutdownTimeout = .seconds(1)
        configuration.pskServerProvider = { client in
            let isOurs = client.clientIdentity == device.deviceId
            observed.value?.identity = isOurs ? .ours : .unknown
            // Made for each handshake, and wiped after it: the key rests in the memory of `Secret` only.
            return PSKServerIdentityResponse(key: NIOSSLSecureBytes(isOurs ? device.localKey : decoy))
        }
        context = try NIOSSLContext(configuration: configuration)
        self.observed = observed
    }

    /// The handlers of one connection, in their order from the network.
    func handlers() -> (observer: IdentityObserver, tls: NIOSSLServerHandler) {
        (IdentityObserver(observed), NIOSSLServerHandler(context: context))
    }
}

/// Stands before TLS and learns which identity came over this connection: TLS asks for the key of an identity without
/// saying for whom.
final class IdentityObserver: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    enum Identity {
        case ours, unknown
    }

    fileprivate(set) var identity: Identity?
    private let observed: NIOLoopBoundBox<IdentityObserver?>

    fileprivate init(_ observed: NIOLoopBoundBox<IdentityObserver?>) { self.observed = observed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        observed.value = self
        defer { observed.value = nil }
        context.fireChannelRead(data)
    }
}

extension NIOSSLSecureBytes {
    fileprivate init(_ secret: Secret) {
        var bytes = secret.withBytes { Array($0) }
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        self.init(bytes)
    }
}
