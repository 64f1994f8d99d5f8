import AgentModel
import NIOCore
import NIOHTTP1

/// One request of a browser and its answer, after which the connection ends: what else a client sends on it is dropped.
///
/// Its place is behind HTTP's decoder and encoder, with ``WebByteLimit`` before them.
final class WebExchange: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case waiting
        case reading(HTTPRequestHead, body: ByteBuffer, isTooLarge: Bool)
        /// The request is complete.
        case answering
        /// Nothing more is written.
        case done
    }

    /// What the outside is told, on the event loop.
    enum Step {
        /// The request is complete, and takes no room from others any more.
        case asked
        case answered(WebResponse.KeyResult)
    }

    /// Answers a request, on the event loop.
    typealias Answering = (WebRequest, any EventLoop) -> EventLoopFuture<WebResponse>

    private let answering: Answering
    private let limits: WebLimits
    private let clock: ServerClock
    private let report: (Step) -> Void
    private var state = State.waiting
    private var isHead = false
    private var (isInputClosed, isOutputClosed) = (false, false)
    private var timer: Scheduled<Void>?

    init(
        limits: WebLimits, clock: ServerClock, report: @escaping (Step) -> Void = { _ in },
        answering: @escaping Answering
    ) {
        (self.limits, self.clock, self.report, self.answering) = (limits, clock, report, answering)
    }

    convenience init(
        _ pages: any WebPages, _ client: WebClient, limits: WebLimits, clock: ServerClock,
        report: @escaping (Step) -> Void
    ) {
        self.init(limits: limits, clock: clock, report: report) { request, loop in
            loop.makeFutureWithTask { await pages.respond(to: request, from: client) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .waiting):
            let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
            state = .reading(head, body: ByteBuffer(), isTooLarge: length > limits.bodyLength)
            // It is told at once, and not after it has sent what is not read.
            if length > limits.bodyLength { ask(context) }
        case (.body(let more), .reading(let head, var body, let isTooLarge)):
            let fits = !isTooLarge && body.readableBytes + more.readableBytes <= limits.bodyLength
            // Out of the state first, or there would be two of it for a moment.
            state = .waiting
            if fits { body.writeImmutableBuffer(more) }
            state = .reading(head, body: body, isTooLarge: !fits)
            if !fits { ask(context) }
        case (.end, .reading): ask(context)
        // What comes after the first request is not for us.
        default: break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is WebByteLimit.Exceeded {
            switch state {
            case .waiting: answer(WebResponse(431), context)
            case .reading(let head, _, _):
                state = .reading(head, body: ByteBuffer(), isTooLarge: true)
                ask(context)
            case .answering, .done: break
            }
        } else if case ChannelEvent.inputClosed = event {
            isInputClosed = true
            switch state {
            // A request that is not complete never will be.
            case .waiting, .reading: context.close(promise: nil)
            case .answering: break
            case .done: if isOutputClosed { context.close(promise: nil) }
            }
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        state = .done
        timer?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch state {
        case .waiting, .reading:
            state = .done
            context.close(promise: nil)
        // What follows the request may be anything, and its answer is under way.
        case .answering, .done: break
        }
    }

    /// The request is complete: has it answered.
    private func ask(_ context: ChannelHandlerContext) {
        guard case .reading(let head, let body, let isTooLarge) = state else { return }
        state = .answering
        report(.asked)
        isHead = head.method == .HEAD
        let request = WebRequest(head, body: isTooLarge ? nil : body)
        wipeRead(body)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.answerTime)) {
            context.close(promise: nil)
        }
        answering(request, context.eventLoop).assumeIsolated().whenSuccess { [self] response in
            answer(response, context)
        }
    }

    private func answer(_ response: WebResponse, _ context: ChannelHandlerContext) {
        if case .done = state {
            // It has gone meanwhile, and what it has asked for goes on.
            report(.answered(response.keyResult))
            if let delivered = response.delivered { Task { await delivered() } }
            return
        }
        state = .done
        report(.answered(response.keyResult))
        var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "Content-Length", value: "\(response.body.count)")
        headers.replaceOrAdd(name: "Connection", value: "close")
        let status = HTTPResponseStatus(statusCode: response.status)
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if !isHead {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        }
        if let delivered = response.delivered { tell(delivered, after: clock.pause(.milliseconds(1500))) }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { [self] _ in
            if let delivered = response.delivered {
                tell(delivered, after: context.channel.acknowledgement(within: .seconds(1), clock))
            }
            letGo(context)
        }
    }

    private func tell(
        _ delivered: @escaping @Sendable () async -> Void, after wait: @escaping @Sendable () async -> Void
    ) {
        Task {
            await wait()
            await delivered()
        }
    }

    /// Ends the connection once the client has ended it, or after a while: to close at once would reset it under the
    /// answer where the client is still sending.
    private func letGo(_ context: ChannelHandlerContext) {
        timer?.cancel()
        guard !isInputClosed else { return context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        isOutputClosed = true
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.lingering)) {
            context.close(promise: nil)
        }
    }

    /// The decoder's buffer has what was posted, and nothing else overwrites it.
    private func wipeRead(_ body: ByteBuffer) {
        body.withUnsafeReadableBytes { wipe(UnsafeMutableRawBufferPointer(mutating: $0)) }
    }
}

extension Channel {
    fileprivate func acknowledgement(within limit: Duration, _ clock: ServerClock) -> @Sendable () async -> Void {
        { try? await self.waitForAcknowledgement(within: limit, clock) }
    }
}

extension ServerClock {
    fileprivate func pause(_ duration: Duration) -> @Sendable () async -> Void {
        { try? await self.sleep(for: duration) }
    }
}

extension TimeAmount {
    fileprivate init(_ duration: Duration) { self = .milliseconds(duration.milliseconds) }
}

extension WebRequest {
    /// - Parameter body: nil where it was too large.
    init(_ head: HTTPRequestHead, body: ByteBuffer?) {
        let method: Method =
            switch head.method {
            case .GET, .HEAD: .get
            case .POST: .post
            default: .other
            }
        // What is sent to a proxy names a host before the path.
        let target = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        func header(_ name: String) -> String? {
            // Two of them would be one for some and the other for others.
            let values = head.headers[name]
            return values.count == 1 ? values[0] : nil
        }
        self.init(
            method, target.first.map(String.init) ?? "", query: target.count > 1 ? String(target[1]) : "",
            host: header("Host")?.lowercased(), origin: header("Origin"),
            accept: header("Accept"), acceptLanguage: head.headers.first(name: "Accept-Language"),
            cookie: header("Cookie"),
            contentType: header("Content-Type"), body: Secret(body?.readableBytesView ?? ByteBufferView()))
        isTooLarge = body == nil
    }
}

/// Lets a number of bytes of a connection through, and reports once that there were more.
///
/// The decoders behind it keep a line, a header or a frame until that is complete, and would keep more than a board has
/// to spare.
final class WebByteLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Exceeded {}

    /// Bytes that may still pass; nil without a limit.
    private var rest: Int?

    init(_ limits: WebLimits) { rest = limits.headLength + limits.bodyLength }

    /// Lets `count` more bytes through from now on.
    func restart(at count: Int) { rest = count }

    /// Ends the limit, also for the rest of the read that is being handled.
    func lift() { rest = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let rest else { return context.fireChannelRead(data) }
        guard rest > 0 else { return }
        var bytes = unwrapInboundIn(data)
        guard bytes.readableBytes >= rest else {
            self.rest = rest - bytes.readableBytes
            return context.fireChannelRead(data)
        }
        // A request that is complete by then is answered, whatever comes behind it.
        let last = bytes.readSlice(length: rest)
        self.rest = 0
        if let last { context.fireChannelRead(wrapInboundOut(last)) }
        context.fireChannelReadComplete()
        // These bytes may have lifted the limit.
        if self.rest == 0 {
            context.fireUserInboundEventTriggered(Exceeded())
        } else if bytes.readableBytes > 0 {
            channelRead(context: context, data: wrapInboundOut(bytes))
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if rest == nil { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
    }
}
