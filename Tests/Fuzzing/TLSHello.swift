import AgentModel
import AppProtocol
import NIOCore
import NIOEmbedded
import NIOTLS

@testable import AppServer

extension FuzzTarget {
    /// A client without the key gets a bounded answer, is never through the handshake, and nothing that it sent is
    /// passed on.
    static let tlsHello = FuzzTarget(
        "tls-hello", "what a client in the network sends before it has shown that it has the key", longest: 512,
        goal: 1_000_000, seeds: { TLSSample.all },
        preparing: {
            let loop = EmbeddedEventLoop()
            guard let key = try? DeviceKey(deviceId: "bench-01", localKey: Secret(text: "0123456789abcdef")),
                let tls = try? PreSharedKeyTLS(key, on: loop)
            else { preconditionFailure("no TLS") }
            return { bytes in greet(bytes, tls, loop) }
        })
}

private func greet(_ bytes: [UInt8], _ tls: PreSharedKeyTLS, _ loop: EmbeddedEventLoop) {
    let witness = Witness()
    let channel = EmbeddedChannel(loop: loop)
    let (observer, server) = tls.handlers()
    do {
        try channel.pipeline.syncOperations.addHandlers([observer, server, witness])
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
    } catch { preconditionFailure("no connection") }
    // In two pieces, of which the first one's size is up to the input.
    let first = bytes.prefix(Int(bytes.last ?? 0))
    for piece in [first, bytes.dropFirst(first.count)] where channel.isActive && !piece.isEmpty {
        _ = try? channel.writeInbound(ByteBuffer(bytes: piece))
    }
    var answered = 0
    while let buffer = try? channel.readOutbound(as: ByteBuffer.self) { answered += buffer.readableBytes }
    precondition(answered <= 4096, "an answer of \(answered) bytes to a client without the key")
    precondition(!witness.isThrough, "a client without the key is through")
    channel.pipeline.fireChannelInactive()
    _ = try? channel.finish(acceptAlreadyClosed: true)
}

/// Sees what comes through TLS.
private final class Witness: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var isThrough = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { isThrough = true }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { isThrough = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

private enum TLSSample {
    static let all: [[UInt8]] = [
        hello, hello + exchange("bench-01"),
        hello + exchange("other") + record(0x14, [1]) + record(0x16, Array(repeating: 7, count: 40)),
        record(0x15, [2, 40]), record(0x17, [1, 2, 3, 4]),
    ]

    /// With the one cipher that the server takes, and x25519.
    private static let hello: [UInt8] = {
        let groups: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 29]
        let points: [UInt8] = [0, 11, 0, 2, 1, 0]
        let secret: [UInt8] = [0, 23, 0, 0]
        let extensions = groups + points + secret
        let random = [UInt8](repeating: 0x5a, count: 32)
        let body = [3, 3] + random + [0, 0, 2, 0xcc, 0xac, 1, 0] + length(extensions.count) + extensions
        return record(0x16, handshake(1, body))
    }()

    /// The client's identity and its share (RFC 5489).
    private static func exchange(_ identity: String) -> [UInt8] {
        let share = [32] + [UInt8](repeating: 9, count: 32)
        return record(0x16, handshake(16, length(identity.utf8.count) + Array(identity.utf8) + share))
    }

    private static func handshake(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type, 0] + length(body.count) + body }
    private static func record(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type, 3, 3] + length(body.count) + body }
    private static func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8 & 0xff), UInt8(count & 0xff)] }
}
