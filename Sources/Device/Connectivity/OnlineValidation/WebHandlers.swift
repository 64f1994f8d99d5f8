import NIOCore
import NIOHTTP1
import NIOSSL

extension ChannelPipeline.SynchronousOperations {
    /// Adds TLS. Checks an address against the certificate's addresses; sends a name in SNI as well (RFC 6066, 3).
    private func addTLS(_ context: NIOSSLContext, to address: WebAddress) throws {
        let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
        try addHandler(NIOSSLClientHandler(context: context, serverHostname: isName ? address.host : nil))
    }

    /// - Parameters:
    ///   - tls: nil for an unencrypted connection.
    ///   - finished: called at least once; only the first call counts.
    func addWebHandlers(
        for address: WebAddress, limits: WebLimits, tls: NIOSSLContext? = nil,
        finished: @escaping (WebExchange) -> Void
    ) throws {
        var decoderLimits = NIOHTTPDecoderLimitConfiguration()
        decoderLimits.maxHeaderFieldSize = limits.headerBytes
        decoderLimits.maxHeaderListSize = limits.headerBytes
        decoderLimits.maxHeaderFieldCount = limits.headerFields
        let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: decoderLimits)
        let content = ByteMeter(limit: limits.receivedBytes)
        var wire = content
        if let tls {
            wire = ByteMeter(limit: limits.receivedEncryptedBytes)
            try addHandler(wire)
            try addTLS(tls, to: address)
        }
        let collector = AnswerCollector(for: address, limits: limits, meter: wire, finished: finished)
        try addHandlers([
            content, HTTPRequestEncoder(), ByteToMessageHandler(decoder), NIOHTTPRequestHeadersValidator(), collector,
        ])
    }

    func write(_ request: WebRequest) {
        var headers: HTTPHeaders = [
            "Host": request.address.authority, "User-Agent": "altnet", "Accept": request.accept,
            "Accept-Encoding": "identity", "Connection": "close",
        ]
        if let cookies = request.cookies { headers.add(name: "Cookie", value: cookies) }
        var body: ByteBuffer?
        if case .form(let fields) = request.method {
            let content = ByteBuffer(string: WebRequest.encoded(fields))
            headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            headers.add(name: "Content-Length", value: "\(content.readableBytes)")
            body = content
        }
        let head = HTTPRequestHead(
            version: .http1_1, method: body == nil ? .GET : .POST, uri: request.address.target, headers: headers)
        write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
        if let body { write(NIOAny(HTTPClientRequestPart.body(.byteBuffer(body))), promise: nil) }
        writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: nil)
    }
}

/// Counts bytes at one point of the pipeline, and reports an error over the limit.
final class ByteMeter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct TooMuch: Error {}

    private let limit: Int
    private(set) var received = 0
    private(set) var sent = 0

    init(limit: Int) { self.limit = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        let room = limit - received
        received += bytes.readableBytes
        // Forwards the part within the limit first: it may complete the answer.
        if room > 0, let allowed = bytes.readSlice(length: min(room, bytes.readableBytes)) {
            context.fireChannelRead(wrapInboundOut(allowed))
        }
        if bytes.readableBytes > 0 { context.fireErrorCaught(TooMuch()) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        sent += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }
}

struct WebExchange: Sendable {
    let result: Result<WebAnswer, WebFailure>
    /// Bytes in both directions, including TLS.
    let bytes: Int
}

/// Assembles an answer within the limits, then closes the connection.
final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let address: WebAddress
    private let limits: WebLimits
    private let meter: ByteMeter
    private let finished: (WebExchange) -> Void

    private var interimAnswers = 0
    private var head: HTTPResponseHead?
    private(set) var body: [UInt8] = []

    init(
        for address: WebAddress, limits: WebLimits, meter: ByteMeter, finished: @escaping (WebExchange) -> Void
    ) {
        (self.address, self.limits) = (address, limits)
        (self.meter, self.finished) = (meter, finished)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            switch unwrapInboundIn(data) {
            case .head(let head): try receive(head)
            case .body(let bytes): if try receive(bytes) { finish(context, isWhole: false) }
            case .end: finish(context, isWhole: true)
            }
        } catch {
            finish(context, .failure(error))
        }
    }

    private func receive(_ head: HTTPResponseHead) throws(WebFailure) {
        switch head.status.code {
        // Excludes 101, which switches to another protocol.
        case 100, 102..<200:
            interimAnswers += 1
            guard interimAnswers <= limits.interimAnswers else { throw .tooLarge(.interimAnswers) }
        case 200...:
            if case .whole(let limit) = limits.body {
                try Self.checkCoding(of: head)
                let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
                guard length <= limit else { throw .tooLarge(.body) }
            }
            self.head = head
        default: throw .notHTTP
        }
    }

    /// Refuses compressed bodies, because a few bytes could expand without limit.
    private static func checkCoding(of head: HTTPResponseHead) throws(WebFailure) {
        let isPlain = head.headers[canonicalForm: "Content-Encoding"].allSatisfy { $0.lowercased() == "identity" }
        let isUnwrapped = head.headers[canonicalForm: "Transfer-Encoding"].allSatisfy { $0.lowercased() == "chunked" }
        guard isPlain, isUnwrapped else { throw .encoded }
    }

    /// - Returns: true if the requested bytes are complete.
    private func receive(_ bytes: ByteBuffer) throws(WebFailure) -> Bool {
        let room = limits.body.count - body.count
        if case .whole = limits.body, bytes.readableBytes > room { throw .tooLarge(.body) }
        body += bytes.readableBytesView.prefix(room)
        guard case .first(let count) = limits.body else { return false }
        return body.count >= count
    }

    private func finish(_ context: ChannelHandlerContext, isWhole: Bool) {
        guard let head else { return finish(context, .failure(.notHTTP)) }
        let fields = head.headers.map { WebAnswer.Field(name: $0.name, value: $0.value) }
        let answer = WebAnswer(
            address: address, status: Int(head.status.code), fields: fields, body: body, isWhole: isWhole)
        finish(context, .success(answer))
    }

    /// Ends the request. Only the first call counts.
    private func finish(_ context: ChannelHandlerContext, _ result: Result<WebAnswer, WebFailure>) {
        finished(WebExchange(result: result, bytes: meter.received + meter.sent))
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is ByteMeter.TooMuch {
            finish(context, .failure(.tooLarge(head == nil ? .header : .body)))
        } else {
            finish(context, .failure(WebFailure(error)))
        }
    }

    func channelInactive(context: ChannelHandlerContext) { finish(context, .failure(.closedEarly)) }

    func handlerRemoved(context: ChannelHandlerContext) { finish(context, .failure(.closedEarly)) }
}
