import AgentModel
import NIOCore
import NIOHTTP1

/// Answers a single browser request and drops further input. Its place is behind HTTP's decoder and encoder.
final class BrowserExchange: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case waiting
        case reading(HTTPRequestHead, body: ByteBuffer, isTooLarge: Bool)
        case answering
        case done
    }

    enum Step {
        case asked
        case keyResult(BrowserResponse.KeyResult)
    }

    typealias Answering = (BrowserRequest, any EventLoop) -> EventLoopFuture<BrowserResponse>

    private let answering: Answering
    private let limits: BrowserLimits
    private let clock: ServerClock
    private let report: (Step) -> Void
    private var state = State.waiting
    private var isHead = false
    private var (isInputClosed, isOutputClosed) = (false, false)
    private var timer: Scheduled<Void>?

    init(
        limits: BrowserLimits, clock: ServerClock, report: @escaping (Step) -> Void = { _ in },
        answering: @escaping Answering
    ) {
        (self.limits, self.clock, self.report, self.answering) = (limits, clock, report, answering)
    }

    convenience init(
        _ pages: any WebPages, _ client: Browser, limits: BrowserLimits, clock: ServerClock,
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
            // Answer before the oversized body arrives.
            if length > limits.bodyLength { ask(context) }
        case (.body(let more), .reading(let head, var body, let isTooLarge)):
            let fits = !isTooLarge && body.readableBytes + more.readableBytes <= limits.bodyLength
            // Release the state's reference to the body first, to avoid a copy.
            state = .waiting
            if fits { body.writeImmutableBuffer(more) }
            state = .reading(head, body: body, isTooLarge: !fits)
            if !fits { ask(context) }
        case (.end, .reading): ask(context)
        // Input after the first request is ignored.
        default: break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is WebByteLimit.Exceeded {
            switch state {
            case .waiting: answer(BrowserResponse(431), context)
            case .reading(let head, _, _):
                state = .reading(head, body: ByteBuffer(), isTooLarge: true)
                ask(context)
            case .answering, .done: break
            }
        } else if case ChannelEvent.inputClosed = event {
            isInputClosed = true
            switch state {
            // The rest of the request will not arrive.
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
        // The request is complete, so errors in later input do not matter.
        case .answering, .done: break
        }
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard case .reading(let head, let body, let isTooLarge) = state else { return }
        state = .answering
        report(.asked)
        isHead = head.method == .HEAD
        let request = BrowserRequest(head, body: isTooLarge ? nil : body)
        wipeRead(body)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.answerTime)) {
            context.close(promise: nil)
        }
        answering(request, context.eventLoop).assumeIsolated().whenSuccess { [self] response in
            answer(response, context)
        }
    }

    private func answer(_ response: BrowserResponse, _ context: ChannelHandlerContext) {
        if case .done = state {
            // The client is gone, but the service has carried out its request.
            report(.keyResult(response.keyResult))
            if let delivered = response.delivered { Task { await delivered() } }
            return
        }
        state = .done
        report(.keyResult(response.keyResult))
        var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "Content-Length", value: "\(response.body.count)")
        headers.replaceOrAdd(name: "Connection", value: "close")
        let status = HTTPResponseStatus(statusCode: response.status)
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if !isHead {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        }
        if let delivered = response.delivered { notifyDelivered(delivered, after: clock.pause(.milliseconds(1500))) }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { [self] _ in
            if let delivered = response.delivered {
                notifyDelivered(delivered, after: context.channel.acknowledgement(within: .seconds(1), clock))
            }
            letGo(context)
        }
    }

    private func notifyDelivered(
        _ delivered: @escaping @Sendable () async -> Void, after wait: @escaping @Sendable () async -> Void
    ) {
        Task {
            await wait()
            await delivered()
        }
    }

    /// Closes when the client closes or after a timeout. Closing at once could reset the connection before the client
    /// has read the answer.
    private func letGo(_ context: ChannelHandlerContext) {
        timer?.cancel()
        guard !isInputClosed else { return context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        isOutputClosed = true
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.lingering)) {
            context.close(promise: nil)
        }
    }

    /// Wipes the decoder's buffer, which NIO does not overwrite.
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

extension BrowserRequest {
    /// - Parameter body: nil if it was too large.
    init(_ head: HTTPRequestHead, body: ByteBuffer?) {
        let method: Method =
            switch head.method {
            case .GET, .HEAD: .get
            case .POST: .post
            default: .other
            }
        // A request to a proxy has a host before the path, so it matches no page.
        let target = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        func header(_ name: String) -> String? {
            // Repeated headers are ambiguous, so they count as missing.
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

/// Forwards a limited number of bytes and reports once when more arrive. The decoders behind it would buffer without
/// limit.
final class WebByteLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Exceeded {}

    /// Number of bytes that may still arrive; nil without a limit.
    private var rest: Int?

    init(_ limits: BrowserLimits) { rest = limits.headLength + limits.bodyLength }

    func restart(at count: Int) { rest = count }

    /// Removes the limit, also for the rest of the current read.
    func lift() { rest = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let rest else { return context.fireChannelRead(data) }
        guard rest > 0 else { return }
        var bytes = unwrapInboundIn(data)
        guard bytes.readableBytes >= rest else {
            self.rest = rest - bytes.readableBytes
            return context.fireChannelRead(data)
        }
        // A request that is complete within the limit is still answered.
        let last = bytes.readSlice(length: rest)
        self.rest = 0
        if let last { context.fireChannelRead(wrapInboundOut(last)) }
        context.fireChannelReadComplete()
        // The later handlers may have lifted or restarted the limit.
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
