import AgentModel
import NIOCore

/// Carries a conversation over a connection.
final class ConversationHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var conversation: Conversation
    private let source: OutsideSource
    private let watch: any OutsideWatch
    /// What goes out once the connection is there.
    private var waiting: [Conversation.Output]
    private var context: ChannelHandlerContext?
    /// Nil once nobody listens any more.
    private var tell: ((Conversation.Output) -> Void)?

    init(
        _ start: (Conversation, [Conversation.Output]), with source: OutsideSource, watchedBy watch: any OutsideWatch,
        tell: @escaping (Conversation.Output) -> Void
    ) {
        (conversation, waiting) = start
        (self.source, self.watch) = (source, watch)
        self.tell = tell
    }

    func ask(_ content: ProviderRequest.Content) { perform(conversation.ask(content)) }

    /// Nothing is told after that.
    func close() {
        tell = nil
        waiting = []
        context?.close(promise: nil)
    }

    /// There is no connection.
    func fail(_ fault: ProviderFault) {
        tell?(.failed(fault))
        close()
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        guard tell != nil else {
            context.close(promise: nil)
            return
        }
        let outputs = waiting
        waiting = []
        perform(outputs)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard tell != nil else { return }
        let bytes = unwrapInboundIn(data)
        if let outputs = watch.reading(source, { conversation.receive(bytes.readableBytesView) }) {
            perform(outputs)
        } else {
            fail(.leftAlone)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { perform(conversation.end()) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ outputs: [Conversation.Output]) {
        for output in outputs {
            guard case .send(let bytes) = output else {
                tell?(output)
                if case .failed = output { close() }
                continue
            }
            if let context, context.channel.isActive {
                // Held up by a provider that does not read, it is a few lines at most: one question at a time.
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            } else if tell != nil {
                waiting.append(output)
            }
        }
    }
}
