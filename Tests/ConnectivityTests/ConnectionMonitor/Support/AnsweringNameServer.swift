import NIOCore
import NIOPosix
import Synchronization

/// A name server that answers every question in the same way.
final class AnsweringNameServer: Sendable {
    enum Manner: Sendable {
        case silent
        /// RFC 1035, 4.1.1: 2 is its own failure (SERVFAIL), 3 is that there is no such name (NXDOMAIN).
        case code(UInt8)
        /// Whatever is asked for, it is there (IPv4), and for 0 s.
        case address([UInt8])
    }

    private let manner = Mutex(Manner.silent)
    private let channel = Mutex<(any Channel)?>(nil)

    /// - Parameter group: on whose machine it is; on every address, port 53.
    init(on group: any EventLoopGroup) async throws {
        let loop = group.next()
        // A socket belongs to the namespace of the thread that makes it.
        let bound = try await loop.flatSubmit {
            DatagramBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Answers { [weak self] in self?.answer($0) })
                    }
                }
                .bind(host: "0.0.0.0", port: 53)
        }.get()
        channel.withLock { $0 = bound }
    }

    deinit { channel.withLock { $0?.close(promise: nil) } }

    func answers(_ new: Manner) { manner.withLock { $0 = new } }

    private func answer(_ query: [UInt8]) -> [UInt8]? {
        // Header, name, type and class; what comes behind the question is left out.
        guard query.count > 16, let end = query.dropFirst(12).firstIndex(of: 0), query.count >= end + 5 else {
            return nil
        }
        let question = query[12..<end + 5]
        let isIPv4 = question.suffix(4).elementsEqual([0, 1, 0, 1])
        let manner = manner.withLock { $0 }
        var (code, record) = (UInt8(0), [UInt8]())
        switch manner {
        case .silent: return nil
        case .code(let number): code = number
        case .address(let bytes): if isIPv4 { record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + bytes }
        }
        let counts: [UInt8] = [0, 1, 0, record.isEmpty ? 0 : 1, 0, 0, 0, 0]
        return Array(query[..<2]) + [0x81, 0x80 | code] + counts + Array(question) + record
    }
}

private final class Answers: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let answer: ([UInt8]) -> [UInt8]?

    init(_ answer: @escaping ([UInt8]) -> [UInt8]?) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let query = unwrapInboundIn(data)
        guard let answer = answer(Array(query.data.readableBytesView)) else { return }
        let envelope = AddressedEnvelope(remoteAddress: query.remoteAddress, data: ByteBuffer(bytes: answer))
        context.writeAndFlush(wrapOutboundOut(envelope), promise: nil)
    }
}
