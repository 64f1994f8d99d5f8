import AgentModel
import AppProtocol
import NIOCore
import NIOSSL
import NIOTLS

/// Runs a connection's handshake: first TLS, then the proof of the key. Its place in the pipeline is behind TLS. While
/// the handshake is delayed, the handler reads nothing: the client's bytes stay in the kernel.
final class HandshakeHandler: ChannelInboundHandler, ChannelOutboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Step {
        case begun
        /// The client has proved this key. Its later bytes are forwarded after this step.
        case completed(AppKey)
        case failed(HandshakeFailure)
        /// The client is a browser. The value is the result of its key check.
        case served(BrowserResponse.KeyResult)
    }

    private let delay: Duration
    private let limit: Duration
    private let clock: ServerClock
    private let credentials: AppCredentials
    private let observer: IdentityObserver?
    private let report: (Step) -> Void
    private var isHeld: Bool
    private var isReadWanted = false
    private var isDecided = false
    private var timer: Task<Void, any Error>?
    private var context: ChannelHandlerContext?
    private var isMoving = false
    private var opening: Opening?
    private var lines = LineSplitter(maximumLength: ProtocolLimits.openingLineLength)
    private var received = 0
    /// Limit of an HTTP client's bytes before its proof.
    private var webLimit: WebByteLimit?
    /// True after a browser has requested a page. From then on the limits of `BrowserExchange` apply.
    private var isPage = false

    /// - Parameter report: called on the event loop: once with `begun` after a delay, then exactly once with a final
    ///   step.
    init(
        delay: Duration, limit: Duration, clock: ServerClock, credentials: AppCredentials, observer: IdentityObserver?,
        report: @escaping (Step) -> Void
    ) {
        self.delay = delay
        self.limit = limit
        self.clock = clock
        self.credentials = credentials
        self.observer = observer
        self.report = report
        isHeld = delay > .zero
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard !isMoving else { return }
        let loop = context.eventLoop
        let handler = NIOLoopBound(self, eventLoop: loop)
        timer = Task { [clock, delay, limit] in
            if delay > .zero {
                try await clock.sleep(for: delay)
                loop.execute { handler.value.beginHandshake() }
            }
            try await clock.sleep(for: limit)
            loop.execute { handler.value.giveUp() }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        if !isMoving { decide(isPage ? .served(.none) : .failed(.gone)) }
    }

    private func follow(_ step: BrowserExchange.Step) {
        isPage = true
        timer?.cancel()
        if case .keyResult(let result) = step, result != .none { decide(.served(result)) }
    }

    /// Adds the WebSocket's handlers to the pipeline, and moves this handler behind them.
    func moveBehind(
        _ handlers: [any ChannelHandler], in pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        isMoving = true
        defer { isMoving = false }
        pipeline.removeHandler(self, promise: nil)
        try pipeline.addHandlers(handlers)
        try pipeline.addHandler(self)
    }

    func read(context: ChannelHandlerContext) {
        if isHeld {
            isReadWanted = true
        } else {
            context.read()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let framing): secured(framing, context)
        case is WebByteLimit.Exceeded: fail(.notUnderstood, context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let opening, !isDecided else { return }
        let bytes = unwrapInboundIn(data).readableBytesView
        // Reads the first line only. Later bytes belong to the session.
        let end = bytes.firstIndex(of: UInt8(ascii: "\n")).map { bytes.index(after: $0) }
        lines.append(bytes[..<(end ?? bytes.endIndex)])
        received += bytes.count
        switch lines.next() {
        case .line(let line):
            switch opening.answer(line) {
            case .opened(let key, let answer):
                write(answer, context)
                complete(key, rest: end.map { ByteBuffer(bytes: bytes[$0...]) }, context)
            case .refused(let failure, let answer): refuse(failure, answer, context)
            }
        case .lineTooLong:
            let answer = Response(id: nil, result: .failure(.lineTooLong)).line()
            refuse(.notUnderstood, answer, context)
        case nil where received > ProtocolLimits.openingLineLength: fail(.notUnderstood, context)
        case nil: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(failure(of: error), context)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        decide(isPage ? .served(.none) : .failed(.gone))
        context.fireChannelInactive()
    }

    private func beginHandshake() {
        guard !isDecided else { return }
        isHeld = false
        report(.begun)
        if isReadWanted { context?.read() }
    }

    private func giveUp() {
        if let context { fail(.tookTooLong, context) }
    }

    private func secured(_ framing: String?, _ context: ChannelHandlerContext) {
        guard !isDecided else { return }
        if observer?.identity == .ours, let owner = credentials.keys.key(named: .owner) {
            return complete(owner, rest: nil, context)
        }
        opening = Opening(credentials)
        guard framing == Framing.webSocket.rawValue else { return greet() }
        do {
            let limit = WebByteLimit(BrowserLimits())
            webLimit = limit
            try context.pipeline.syncOperations.addWebSocket(before: self, limit, or: exchange(context))
        } catch {
            fail(.gone, context)
        }
    }

    private func exchange(_ context: ChannelHandlerContext) -> BrowserExchange? {
        guard let pages = credentials.pages, let client = context.remoteAddress.flatMap({ Browser($0) })
        else { return nil }
        return BrowserExchange(
            pages, client, limits: BrowserLimits(), clock: clock
        ) { [weak self] in self?.follow($0) }
    }

    func greet() {
        guard let context else { return }
        guard let opening, let greeting = try? opening.greeting() else { return fail(.gone, context) }
        write(greeting, context)
    }

    private func write(_ line: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: line + [UInt8(ascii: "\n")])), promise: nil)
    }

    /// - Parameter rest: bytes after the client's first line.
    private func complete(_ key: AppKey, rest: ByteBuffer?, _ context: ChannelHandlerContext) {
        decide(.completed(key))
        webLimit?.lift()
        if let rest, rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
        // Free memory: an open connection does not need these handlers.
        let pipeline = context.pipeline.syncOperations
        if let observer { pipeline.removeHandler(observer, promise: nil) }
        pipeline.removeHandler(self, promise: nil)
    }

    private func refuse(_ failure: HandshakeFailure, _ answer: [UInt8], _ context: ChannelHandlerContext) {
        write(answer, context)
        fail(failure, context)
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
        return switch observer?.identity {
        case .ours: .wrongKey
        case .unknown: .unknownDevice
        case nil: .notUnderstood
        }
    }
}

/// TLS with the device's certificate, and optionally with the owner's key as pre-shared key. Use it on one event loop
/// only.
final class ServerTLS {
    private let context: NIOSSLContext
    private let observer: NIOLoopBoundBox<IdentityObserver?>?

    init(_ credentials: AppCredentials, on eventLoop: any EventLoop) throws {
        var configuration = credentials.certificate.configuration
        if credentials.acceptsPreSharedKey, let owner = credentials.keys.key(named: .owner) {
            let observed = NIOLoopBoundBox<IdentityObserver?>(nil, eventLoop: eventLoop)
            configuration.acceptPreSharedKey(of: credentials.deviceId, owner.secret, observed)
            self.observer = observed
        } else {
            observer = nil
        }
        context = try NIOSSLContext(configuration: configuration)
    }

    /// Returns the handlers for one connection, in their order from the network.
    func handlers() -> (observer: IdentityObserver?, tls: NIOSSLServerHandler) {
        (observer.map { IdentityObserver($0) }, NIOSSLServerHandler(context: context))
    }
}

extension TLSConfiguration {
    /// Accepts TLS 1.2 for old apps: ECDHE for forward secrecy and a pre-shared key for authentication (RFC 5489, RFC
    /// 7905).
    fileprivate mutating func acceptPreSharedKey(
        of deviceId: String, _ localKey: Secret, _ observed: NIOLoopBoundBox<IdentityObserver?>
    ) {
        cipherSuites += ":ECDHE-PSK-CHACHA20-POLY1305"
        // A wrong ID fails like a wrong key, so a client cannot distinguish them.
        var random = SystemRandomNumberGenerator()
        let decoy = Secret((0..<localKey.count).map { _ in UInt8.random(in: 0...255, using: &random) })
        pskServerProvider = { client in
            let isOurs = client.clientIdentity == deviceId
            observed.value?.identity = isOurs ? .ours : .unknown
            // NIOSSL wipes this copy after the handshake. Only `Secret` keeps the key.
            return PSKServerIdentityResponse(key: NIOSSLSecureBytes(isOurs ? localKey : decoy))
        }
    }
}

/// Records the PSK identity that a client sends. Its place is before TLS, whose callback does not name the connection.
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
