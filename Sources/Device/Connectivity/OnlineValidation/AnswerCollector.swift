import NIOCore
import NIOHTTP1

/// What became of one request.
struct WebExchange: Sendable {
    let result: Result<WebAnswer, WebFailure>
    /// Both directions, with what TLS adds.
    let bytes: Int
}

/// Puts an answer together from its parts as long as it keeps to the limits, then closes the connection.
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
        // 101 is the beginning of another protocol.
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

    /// Nothing is unpacked here: a few bytes can become as many as one likes.
    private static func checkCoding(of head: HTTPResponseHead) throws(WebFailure) {
        let isPlain = head.headers[canonicalForm: "Content-Encoding"].allSatisfy { $0.lowercased() == "identity" }
        let isUnwrapped = head.headers[canonicalForm: "Transfer-Encoding"].allSatisfy { $0.lowercased() == "chunked" }
        guard isPlain, isUnwrapped else { throw .encoded }
    }

    /// - Returns: whether there is as much as was asked for.
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

    /// Only the first time means anything.
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
