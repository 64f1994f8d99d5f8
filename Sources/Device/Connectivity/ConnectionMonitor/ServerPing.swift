import NIOCore
import NIOHTTP1

/// The questions by which a server shows that it lives: first a greeting, then a ping from time to time.
enum ServerQuestion {
    case hello, ping
}

/// The server has answered the last question.
struct ServerAnswer {}

/// The server speaks another protocol, or sends more than it should.
struct UnexpectedAnswer: Error, Equatable {}

extension ChannelPipeline.SynchronousOperations {
    /// Adds the handlers of the target's protocol, behind TLS.
    /// - Parameter interval: from one ping to the next.
    func addPing(_ target: Target, every interval: Duration) throws {
        switch target.service {
        case .tcp: break
        case .mqtt: try addHandler(MQTTPing(every: interval))
        case .http:
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = HTTPPing.longestAnswer
            limits.maxHeaderListSize = HTTPPing.longestAnswer
            let decoder = HTTPResponseDecoder(informationalResponseStrategy: .drop, limitConfiguration: limits)
            try addHandlers([HTTPRequestEncoder(), ByteToMessageHandler(decoder), HTTPPing(target)])
        }
    }
}

/// Asks for the head of `/`. Any status proves that the server lives (RFC 9112), but without TLS not those that captive
/// portals answer in its place.
final class HTTPPing: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = ServerAnswer
    typealias OutboundIn = ServerQuestion
    typealias OutboundOut = HTTPClientRequestPart

    /// At most so much of one answer is read, interim answers (RFC 9110, 15.2) included. In bytes.
    static let longestAnswer = 8192

    private let head: HTTPRequestHead
    /// Whether the server has proved its identity, by TLS.
    private let isProven: Bool
    private var isLast = false

    init(_ target: Target) {
        isProven = target.isTLS
        let host = target.host.contains(":") ? "[\(target.host)]" : target.host
        head = HTTPRequestHead(
            version: .http1_1, method: .HEAD, uri: "/",
            headers: ["Host": "\(host):\(target.port)", "User-Agent": "altnet", "Accept": "*/*"])
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The server has announced the end of the connection (RFC 9112, 9.6), and has not carried it out.
        guard !isLast else { return context.close(promise: promise) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        // 101 is the beginning of another protocol.
        guard head.status.code >= 200, isProven || !Self.isPortals(head.status) else {
            return context.fireErrorCaught(UnexpectedAnswer())
        }
        let options = head.headers[canonicalForm: "Connection"].map { $0.lowercased() }
        isLast = options.contains("close") || head.version.minor == 0 && !options.contains("keep-alive")
        context.fireChannelRead(wrapInboundOut(ServerAnswer()))
    }

    /// A redirection, or 511 (RFC 6585, 6).
    private static func isPortals(_ status: HTTPResponseStatus) -> Bool {
        (300...399).contains(status.code) || status.code == 511
    }
}

/// Greets and pings as ``MQTTPackets`` has it.
final class MQTTPing: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ServerAnswer
    typealias OutboundIn = ServerQuestion
    typealias OutboundOut = ByteBuffer

    private var packets: MQTTPackets

    init(every interval: Duration) { packets = MQTTPackets(pingEvery: interval) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes =
            switch unwrapOutboundIn(data) {
            case .hello: packets.hello
            case .ping: packets.ping
            }
        context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            guard try packets.hear(unwrapInboundIn(data).readableBytesView) else { return }
            context.fireChannelRead(wrapInboundOut(ServerAnswer()))
        } catch {
            context.fireErrorCaught(error)
        }
    }
}

/// Greets as a client without a name and without rights, then pings (MQTT 3.1.1). A server that refuses it lives too.
struct MQTTPackets {
    /// At most so much of one packet is read: what a server has to say here has 2 to 5 bytes, in MQTT 5 some more.
    static let longestPacket = 1024

    /// CONNECT (3.1).
    let hello: [UInt8]
    /// PINGREQ (3.12).
    let ping: [UInt8] = [0xc0, 0]
    /// CONNACK (3.2), then PINGRESP (3.13).
    private var awaited: UInt8 = 0x20
    private var packet: [UInt8] = []

    /// - Parameter interval: the server is told twice that, and gives the client up after thrice (3.1.2.10).
    init(pingEvery interval: Duration) {
        let keepAlive = UInt16(clamping: interval.components.seconds * 2)
        // 3.1.2: the protocol's name and level 4, clean session, and no client identifier.
        hello =
            [0x10, 12, 0, 4] + Array("MQTT".utf8)
            + [4, 0b0000_0010, UInt8(keepAlive >> 8), UInt8(truncatingIfNeeded: keepAlive), 0, 0]
    }

    /// - Parameter bytes: what came since the last packet was sent, in pieces as they came.
    /// - Returns: whether the answer is complete.
    mutating func hear(_ bytes: some Sequence<UInt8>) throws(UnexpectedAnswer) -> Bool {
        var isAnswered = false
        for byte in bytes {
            packet.append(byte)
            guard packet.first == awaited else { throw UnexpectedAnswer() }
            guard let length = try Self.length(of: packet), packet.count == length else { continue }
            packet.removeAll(keepingCapacity: true)
            awaited = 0xd0
            isAnswered = true
        }
        return isAnswered
    }

    /// The length of a whole packet, once it can be told (2.2.3).
    private static func length(of packet: [UInt8]) throws(UnexpectedAnswer) -> Int? {
        var rest = 0
        for (index, byte) in packet.dropFirst().prefix(4).enumerated() {
            rest |= Int(byte & 0x7f) << (7 * index)
            guard byte & 0x80 != 0 else {
                guard rest <= longestPacket else { throw UnexpectedAnswer() }
                return 2 + index + rest
            }
        }
        guard packet.count < 5 else { throw UnexpectedAnswer() }
        return nil
    }
}
