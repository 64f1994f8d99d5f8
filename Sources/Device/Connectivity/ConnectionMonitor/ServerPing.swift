import NIOCore
import NIOHTTP1

/// Requests that test a server: a greeting, then pings.
enum ServerQuestion {
    case hello, ping
}

struct ServerAnswer {}

/// The server speaks another protocol or sends too much.
struct UnexpectedAnswer: Error, Equatable {}

extension ChannelPipeline.SynchronousOperations {
    /// - Parameter interval: time between pings.
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

/// Requests HEAD of `/`. Any status counts as an answer (RFC 9112), except a captive portal's statuses without TLS.
final class HTTPPing: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = ServerAnswer
    typealias OutboundIn = ServerQuestion
    typealias OutboundOut = HTTPClientRequestPart

    /// Maximum bytes of an answer, interim answers (RFC 9110, 15.2) included.
    static let longestAnswer = 8192

    private let head: HTTPRequestHead
    /// Whether TLS has authenticated the server.
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
        // Closes the connection if the server has announced a close (RFC 9112, 9.6) but has not closed.
        guard !isLast else { return context.close(promise: promise) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        // Rejects 101, which switches to another protocol.
        guard head.status.code >= 200, isProven || !Self.isPortals(head.status) else {
            return context.fireErrorCaught(UnexpectedAnswer())
        }
        let options = head.headers[canonicalForm: "Connection"].map { $0.lowercased() }
        isLast = options.contains("close") || head.version.minor == 0 && !options.contains("keep-alive")
        context.fireChannelRead(wrapInboundOut(ServerAnswer()))
    }

    /// Whether the status is a captive portal's: a redirection, or 511 (RFC 6585, 6).
    private static func isPortals(_ status: HTTPResponseStatus) -> Bool {
        (300...399).contains(status.code) || status.code == 511
    }
}

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
            guard try packets.receive(unwrapInboundIn(data).readableBytesView) else { return }
            context.fireChannelRead(wrapInboundOut(ServerAnswer()))
        } catch {
            context.fireErrorCaught(error)
        }
    }
}

/// Packets of an MQTT 3.1.1 test: a CONNECT without name and credentials, then pings. A refusal counts as an answer.
struct MQTTPackets {
    /// Maximum bytes of a packet. The expected packets have 2 to 5 bytes, in MQTT 5 some more.
    static let longestPacket = 1024

    /// The packet CONNECT (3.1).
    let hello: [UInt8]
    /// The packet PINGREQ (3.12).
    let ping: [UInt8] = [0xc0, 0]
    /// Type of the awaited packet: CONNACK (3.2), then PINGRESP (3.13).
    private var awaited: UInt8 = 0x20
    private var packet: [UInt8] = []

    /// - Parameter interval: time between pings. The announced keep-alive is twice that, and servers allow 1.5 times as
    ///   much (3.1.2.10).
    init(pingEvery interval: Duration) {
        let keepAlive = UInt16(clamping: interval.components.seconds * 2)
        // 3.1.2: protocol name and level 4, clean session, no client identifier.
        hello =
            [0x10, 12, 0, 4] + Array("MQTT".utf8)
            + [4, 0b0000_0010, UInt8(keepAlive >> 8), UInt8(truncatingIfNeeded: keepAlive), 0, 0]
    }

    /// - Parameter bytes: bytes received since the last packet was sent.
    /// - Returns: true if the answer is complete.
    mutating func receive(_ bytes: some Sequence<UInt8>) throws(UnexpectedAnswer) -> Bool {
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

    /// Returns the length of the whole packet, once known (2.2.3).
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
