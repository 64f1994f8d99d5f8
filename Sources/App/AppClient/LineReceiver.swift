import AppProtocol
import NIOCore

/// Cuts what arrives into lines for the inbox.
final class LineReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let inbox: Inbox
    private var lines = LineSplitter()

    init(inbox: Inbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lines.append(unwrapInboundIn(data).readableBytesView)
        while let output = lines.next() {
            switch output {
            case .line(let line): inbox.receive(line)
            case .lineTooLong:
                inbox.end(.notUnderstood(.lineTooLong))
                context.close(promise: nil)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end(.disconnected)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        inbox.end(.disconnected)
        context.close(promise: nil)
    }
}
