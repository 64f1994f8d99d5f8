import AgentModel
import NIOCore

/// Takes what a client has sent out of the memory where the transport keeps it, and overwrites it there.
///
/// NIO reads into the same few buffers all the time, and its TLS decrypts into one that lives as long as the connection: a
/// password would stay behind the end of what comes after it. What goes on is in memory of its own, which is freed, and
/// overwritten then (``AgentService/overwriteFreedMemory()``).
final class ReadBytesWiper: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data)
        let own = ByteBuffer(bytes: read.readableBytesView)
        // In place: writing to the buffer would be writing to a copy of it, for the transport has it too.
        read.withUnsafeReadableBytes { wipe(UnsafeMutableRawBufferPointer(mutating: $0)) }
        context.fireChannelRead(wrapInboundOut(own))
    }
}
