import AgentModel
import AppProtocol
import NIOCore
import NIOEmbedded
import NIOTLS

@testable import AppServer

extension FuzzTarget {
    /// A client without a key gets a bounded answer, and nothing that it sent is passed on.
    static let tlsHello = FuzzTarget(
        "tls-hello", "what a client in the network sends before there is TLS", longest: 512,
        goal: 1_000_000, seeds: { TLSSample.all },
        preparing: {
            let loop = EmbeddedEventLoop()
            guard let tls = try? ServerTLS(credentials, on: loop) else { preconditionFailure("no TLS") }
            return { bytes in greet(bytes, tls, loop) }
        })

    /// A client that cannot prove that it has a key is refused, with a short answer, whatever its first line is.
    static let opening = FuzzTarget(
        "opening", "the first line of a client in the network", longest: ProtocolLimits.openingLineLength,
        goal: 1_000_000, seeds: { OpeningSample.all }
    ) { bytes in
        // A device that greets with another number each time would let nothing be found twice.
        guard let nonce = Nonce(Array(repeating: 7, count: Nonce.length)) else { return }
        let opening = Opening(credentials, nonce: nonce)
        switch opening.answer(bytes) {
        case .opened(let key, let answer):
            precondition(key.name == .owner && bytes == OpeningSample.right, "a client without a key is let in")
            precondition(answer.count <= ProtocolLimits.openingLineLength)
        case .refused(_, let answer):
            precondition(answer.count <= ProtocolLimits.openingLineLength, "an answer of \(answer.count) bytes")
            guard case .answer(_, _?)? = try? ServerLine(line: answer) else {
                preconditionFailure("a refusal cannot be read")
            }
        }
    }
}

private let localKey = Secret(text: "0123456789abcdef")

private let credentials: AppCredentials = {
    guard let certificate = try? DeviceCertificate.random() else { preconditionFailure("no certificate") }
    return AppCredentials(
        deviceId: "bench-01", certificate: certificate, keys: OwnerKey(localKey), acceptsPreSharedKey: true)
}()

private enum OpeningSample {
    static let all: [[UInt8]] = [
        right, Array(right.dropLast(3)),
        Array(
            #"{"v":1,"id":"1","type":"session.open","body":{"deviceId":"bench-01","key":"Anna's phone","nonce":"","proof":""}}"#
                .utf8),
        Array(#"{"v":1,"id":"1","type":"network.get"}"#.utf8), Array("GET / HTTP/1.1".utf8),
    ]

    /// The line that is let in, to the device that greets with sevens.
    static let right: [UInt8] = {
        guard let deviceNonce = Nonce(Array(repeating: 7, count: Nonce.length)),
            let appNonce = Nonce(Array(repeating: 8, count: Nonce.length))
        else { return [] }
        let transcript = SessionTranscript(
            deviceId: credentials.deviceId, certificate: credentials.certificate.fingerprint, deviceNonce: deviceNonce,
            appNonce: appNonce)
        let request = transcript.opening(with: localKey)
        return (try? Request(id: "1", content: .open(request)).line()) ?? []
    }()
}

private func greet(_ bytes: [UInt8], _ tls: ServerTLS, _ loop: EmbeddedEventLoop) {
    let witness = Witness()
    let channel = EmbeddedChannel(loop: loop)
    let (observer, server) = tls.handlers()
    do {
        if let observer { try channel.pipeline.syncOperations.addHandler(observer) }
        try channel.pipeline.syncOperations.addHandlers([server, witness])
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
        modernHello, modernHello + record(0x14, [1]) + record(0x17, Array(repeating: 7, count: 53)),
        hello, hello + exchange("bench-01"),
        hello + exchange("other") + record(0x14, [1]) + record(0x16, Array(repeating: 7, count: 40)),
        record(0x15, [2, 40]), record(0x17, [1, 2, 3, 4]),
    ]

    /// Of TLS 1.3, with x25519 and ECDSA.
    private static let modernHello: [UInt8] = {
        let versions: [UInt8] = [0, 43, 0, 3, 2, 3, 4]
        let groups: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 29]
        let signatures: [UInt8] = [0, 13, 0, 4, 0, 2, 4, 3]
        let share: [UInt8] = [0, 51, 0, 38, 0, 36, 0, 29, 0, 32] + Array(repeating: 9, count: 32)
        let protocols: [UInt8] = [0, 16, 0, 9, 0, 7, 6] + Array("altnet".utf8)
        let extensions = versions + groups + signatures + share + protocols
        let random = [UInt8](repeating: 0x5a, count: 32)
        let body = [3, 3] + random + [0, 0, 2, 0x13, 0x01, 1, 0] + length(extensions.count) + extensions
        return record(0x16, handshake(1, body))
    }()

    /// Of TLS 1.2 with a pre-shared key, and x25519.
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
