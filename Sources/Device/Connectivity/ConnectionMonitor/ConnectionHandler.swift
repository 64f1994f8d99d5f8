import AgentModel
import NIOCore
import NIOSSL
import NIOTLS

/// Runs a connection: waits for the first answer, then pings. It is the last handler, behind TLS and the protocol.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ServerAnswer
    typealias OutboundOut = ServerQuestion

    enum Event: Sendable {
        /// The TCP connection exists, but the server has not answered yet.
        case connected(any Channel)
        case opened
        /// - Parameter problem: nil if the other side closed the connection regularly.
        case ended(ReachProblem?)
    }

    private let isTLS: Bool
    private let asks: Bool
    private let gate: AnswerGate
    private let keepAlive: KeepAlive
    private let deadline: NIODeadline
    private let report: @Sendable (Event) -> Void
    private var isOpen = false
    private var problem: ReachProblem?
    private var isEnded = false
    private var timer: Scheduled<Void>?

    private init(
        _ target: Target, _ gate: AnswerGate, keepAlive: KeepAlive, deadline: NIODeadline,
        report: @escaping @Sendable (Event) -> Void
    ) {
        isTLS = target.isTLS
        asks = target.service != .tcp
        self.gate = gate
        self.keepAlive = keepAlive
        self.deadline = deadline
        self.report = report
    }

    /// - Parameters:
    ///   - deadline: end of the attempt.
    ///   - report: called for each event; `ended` is reported once, as the last event.
    static func add(
        to pipeline: ChannelPipeline.SynchronousOperations, _ target: Target, keepAlive: KeepAlive,
        deadline: NIODeadline, report: @escaping @Sendable (Event) -> Void
    ) throws {
        let gate = AnswerGate(isLineByLine: target.service == .http)
        try pipeline.addHandler(gate)
        try pipeline.addPing(target, every: keepAlive.application)
        try pipeline.addHandler(
            ConnectionHandler(target, gate, keepAlive: keepAlive, deadline: deadline, report: report))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        report(.connected(context.channel))
        schedule(at: deadline, context: context) { $0.end(because: .timedOut, context: $1) }
        if !isTLS, context.channel.isActive { greet(context: context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        if !isTLS { greet(context: context) }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { greet(context: context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        gate.close()
        open(context: context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Many servers close without TLS's close message.
        if case .uncleanShutdown = error as? NIOSSLError {
            end(because: nil, context: context)
        } else {
            end(because: ReachProblem(error), context: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        conclude()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { conclude() }

    /// Sends the greeting once the other side can receive data, or opens the connection if the service has none.
    private func greet(context: ChannelHandlerContext) {
        if asks { ask(.hello, context: context) } else { open(context: context) }
    }

    private func ask(_ question: ServerQuestion, context: ChannelHandlerContext) {
        gate.open()
        context.writeAndFlush(wrapOutboundOut(question), promise: nil)
    }

    private func open(context: ChannelHandlerContext) {
        timer?.cancel()
        if !isOpen {
            isOpen = true
            report(.opened)
        }
        guard asks else { return }
        schedulePing(after: keepAlive.application, context: context)
    }

    private func schedulePing(after time: Duration, context: ChannelHandlerContext) {
        schedule(at: context.eventLoop.now + TimeAmount(time), context: context) { handler, context in
            context.channel.silence().assumeIsolated().whenSuccess { handler.ping(afterSilence: $0, context: context) }
        }
    }

    private func ping(afterSilence silence: Duration?, context: ChannelHandlerContext) {
        guard !isEnded else { return }
        if let pause = silence.flatMap(keepAlive.pause(afterSilence:)) {
            return schedulePing(after: pause, context: context)
        }
        ask(.ping, context: context)
        guard context.channel.isActive else { return }
        schedule(at: context.eventLoop.now + TimeAmount(keepAlive.applicationLimit), context: context) {
            $0.end(because: .timedOut, context: $1)
        }
    }

    private func end(because problem: ReachProblem?, context: ChannelHandlerContext) {
        if self.problem == nil { self.problem = problem }
        context.close(promise: nil)
    }

    private func conclude() {
        guard !isEnded else { return }
        isEnded = true
        timer?.cancel()
        // A connection that closes before the first answer has failed.
        report(.ended(isOpen ? problem : problem ?? .connectionReset))
    }

    private func schedule(
        at deadline: NIODeadline, context: ChannelHandlerContext,
        _ body: @escaping (ConnectionHandler, ChannelHandlerContext) -> Void
    ) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { body(self, context) }
    }
}

/// Forwards requested answers. Drops unrequested bytes, up to a limit.
final class AnswerGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Maximum number of unrequested bytes for each connection.
    static let largestUnasked = 65_536

    private let isLineByLine: Bool
    private var isOpen = false
    private var unasked = 0
    /// Bytes of the current answer.
    private var received = 0
    private var last: UInt8?

    /// - Parameter isLineByLine: true to forward single lines, so that nothing follows an answer's last line. Adds
    ///   missing carriage returns (RFC 9112, 2.2).
    init(isLineByLine: Bool) { self.isLineByLine = isLineByLine }

    func open() { (isOpen, received) = (true, 0) }

    func close() { isOpen = false }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while isOpen, let piece = isLineByLine ? line(of: &bytes) : bytes.readSlice(length: bytes.readableBytes),
            piece.readableBytes > 0
        {
            received += piece.readableBytes
            guard !isLineByLine || received <= HTTPPing.longestAnswer else {
                isOpen = false
                return context.fireErrorCaught(UnexpectedAnswer())
            }
            context.fireChannelRead(wrapInboundOut(piece))
        }
        unasked += bytes.readableBytes
        if unasked > Self.largestUnasked { context.close(promise: nil) }
    }

    /// Returns a line, or the incomplete rest.
    private func line(of bytes: inout ByteBuffer) -> ByteBuffer? {
        let newline = UInt8(ascii: "\n")
        let view = bytes.readableBytesView
        guard let end = view.firstIndex(of: newline) else {
            last = view.last ?? last
            return bytes.readSlice(length: bytes.readableBytes)
        }
        let before = end > view.startIndex ? view[view.index(before: end)] : last
        guard var line = bytes.readSlice(length: end - view.startIndex) else { return nil }
        bytes.moveReaderIndex(forwardBy: 1)
        last = newline
        line.writeString(before == UInt8(ascii: "\r") ? "\n" : "\r\n")
        return line
    }
}
