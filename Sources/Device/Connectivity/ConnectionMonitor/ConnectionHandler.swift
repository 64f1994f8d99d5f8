import AgentModel
import NIOCore
import NIOSSL
import NIOTLS

/// Sees a connection through: waits until the other side has shown that it lives, and asks again from time to time.
///
/// Its place is last, behind TLS.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    enum Event: Sendable {
        /// There is a connection; nothing is proved by that yet.
        case connected(any Channel)
        case opened
        /// - Parameter problem: nil where the other side ended it in order.
        case ended(ReachProblem?)
    }

    /// What is not asked for is read and forgotten, up to so many bytes from one connection.
    static let largestUnasked = 65_536

    private let isTLS: Bool
    private let keepAlive: KeepAlive
    private let deadline: NIODeadline
    private let report: @Sendable (Event) -> Void
    private var conversation: (any Conversation)?
    private var isOpen = false
    private var isAnswerDue = false
    private var unasked = 0
    private var problem: ReachProblem?
    private var isEnded = false
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - deadline: when the attempt is given up.
    ///   - report: is told each event; `ended` once, and last.
    init(
        _ target: Target, keepAlive: KeepAlive, deadline: NIODeadline, report: @escaping @Sendable (Event) -> Void
    ) {
        isTLS = target.isTLS
        self.keepAlive = keepAlive
        self.deadline = deadline
        self.report = report
        conversation = target.conversation(pingEvery: keepAlive.application)
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
        let bytes = unwrapInboundIn(data).readableBytesView
        guard isAnswerDue else {
            unasked += bytes.count
            if unasked > Self.largestUnasked { end(because: nil, context: context) }
            return
        }
        do {
            guard try conversation?.hear(bytes) == true else { return }
            isAnswerDue = false
            open(context: context)
        } catch {
            end(because: .unexpectedAnswer, context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Many servers end without TLS's goodbye.
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

    /// The other side may be spoken to.
    private func greet(context: ChannelHandlerContext) {
        if let conversation { say(conversation.hello, context: context) } else { open(context: context) }
    }

    private func say(_ bytes: [UInt8], context: ChannelHandlerContext) {
        isAnswerDue = true
        context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func open(context: ChannelHandlerContext) {
        timer?.cancel()
        if !isOpen {
            isOpen = true
            report(.opened)
        }
        guard conversation != nil else { return }
        schedule(at: context.eventLoop.now + TimeAmount(keepAlive.application), context: context) {
            $0.ping(context: $1)
        }
    }

    private func ping(context: ChannelHandlerContext) {
        guard let conversation else { return }
        say(conversation.ping, context: context)
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
        // Ended before it answered: that is not in order, however politely it was done.
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
