import AgentModel
import AppProtocol
import NIOCore
import NIOPosix

/// Protocol state of a connection to the host or a provider. An unexpected line ends the connection.
struct ProviderConnection: Sendable {
    enum Effect: Sendable, Equatable {
        case send([UInt8])
        case listed(ProviderList)
        case answer(ProviderAnswer)
        case failed(ProviderFault)
    }

    private enum Expected {
        case list
        case answer(String, ProviderRequest.Kind)
        case nothing
        case over
    }

    private var splitter = LineSplitter()
    private var expected: Expected = .nothing
    private var lastId = 0
    /// The question to ask after the answer to `hello`.
    private var first: ProviderRequest.Content?

    static func listing() -> (ProviderConnection, [Effect]) {
        var connection = ProviderConnection()
        connection.expected = .list
        let effects = connection.written { () throws(ProtocolError) in try HostRequest.list.line() }
        return (connection, effects)
    }

    static func opening(_ provider: String, _ content: ProviderRequest.Content) -> (ProviderConnection, [Effect]) {
        var connection = ProviderConnection()
        connection.first = content
        var effects = connection.written { () throws(ProtocolError) in
            try HostRequest.open(provider: provider).line()
        }
        effects += connection.ask(.hello)
        return (connection, effects)
    }

    mutating func ask(_ content: ProviderRequest.Content) -> [Effect] {
        lastId += 1
        let request = ProviderRequest(id: "\(lastId)", content: content)
        expected = .answer(request.id, request.kind)
        return written { () throws(ProtocolError) in try request.line() }
    }

    mutating func receive(_ bytes: some Sequence<UInt8>) -> [Effect] {
        splitter.append(bytes)
        var effects: [Effect] = []
        while let next = splitter.next() {
            switch next {
            case .lineTooLong: effects += fail(.garbage(ProtocolError.lineTooLong.message))
            case .line(let line): effects += receive(line: line)
            }
        }
        return effects
    }

    mutating func end() -> [Effect] { fail(.ended) }

    private mutating func receive(line: [UInt8]) -> [Effect] {
        do throws(ProviderFault) {
            switch expected {
            case .over: return []
            case .nothing: throw .garbage("its answer is not for the current question")
            case .list:
                let list = try ProviderList(line: line)
                expected = .over
                return [.listed(list)]
            case .answer(let id, let kind):
                let answer = try ProviderAnswer(line: line, to: id, of: kind)
                expected = .nothing
                guard let content = first else { return [.answer(answer)] }
                first = nil
                return ask(content)
            }
        } catch {
            return fail(error)
        }
    }

    private mutating func fail(_ fault: ProviderFault) -> [Effect] {
        if case .over = expected { return [] }
        expected = .over
        return [.failed(fault)]
    }

    private mutating func written(_ line: () throws(ProtocolError) -> [UInt8]) -> [Effect] {
        do {
            return [.send(try line() + [UInt8(ascii: "\n")])]
        } catch {
            return fail(.garbage("the question is too long for a line"))
        }
    }
}

final class ProviderConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var connection: ProviderConnection
    private let source: OutsideSource
    private let watch: any OutsideWatch
    /// Effects to perform once connected.
    private var waiting: [ProviderConnection.Effect]
    private var context: ChannelHandlerContext?
    /// Reports an effect; nil after `close`.
    private var report: ((ProviderConnection.Effect) -> Void)?

    init(
        _ start: (ProviderConnection, [ProviderConnection.Effect]), with source: OutsideSource,
        watchedBy watch: any OutsideWatch,
        report: @escaping (ProviderConnection.Effect) -> Void
    ) {
        (connection, waiting) = start
        (self.source, self.watch) = (source, watch)
        self.report = report
    }

    func ask(_ content: ProviderRequest.Content) { perform(connection.ask(content)) }

    /// Closes the connection. Reports no events afterwards.
    func close() {
        report = nil
        waiting = []
        context?.close(promise: nil)
    }

    func fail(_ fault: ProviderFault) {
        report?(.failed(fault))
        close()
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        guard report != nil else {
            context.close(promise: nil)
            return
        }
        let effects = waiting
        waiting = []
        perform(effects)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard report != nil else { return }
        let bytes = unwrapInboundIn(data)
        if let effects = watch.reading(source, { connection.receive(bytes.readableBytesView) }) {
            perform(effects)
        } else {
            fail(.leftAlone)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { perform(connection.end()) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ effects: [ProviderConnection.Effect]) {
        for effect in effects {
            guard case .send(let bytes) = effect else {
                report?(effect)
                if case .failed = effect { close() }
                continue
            }
            if let context, context.channel.isActive {
                // At most a few lines wait here, because only one question is open at a time.
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            } else if report != nil {
                waiting.append(effect)
            }
        }
    }
}

struct HostConnector: Sendable {
    let socket: String
    let loop: any EventLoop
    let watch: any OutsideWatch

    /// Opens a connection. Call this on the loop. `report` is called on the loop, too, after this method has returned.
    /// - Parameter provider: the provider's name; nil for the host.
    func open(
        _ provider: String?, _ start: (ProviderConnection, [ProviderConnection.Effect]),
        report: @escaping (ProviderConnection.Effect) -> Void
    ) -> ProviderConnectionHandler {
        loop.preconditionInEventLoop()
        let handler = ProviderConnectionHandler(
            start, with: OutsideSource(.provider, provider ?? ""), watchedBy: watch, report: report)
        let bound = NIOLoopBound(handler, eventLoop: loop)
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value) }
            }
            .connect(unixDomainSocketPath: socket)
            .whenFailure { error in
                // Fails later, because the caller does not have the handler yet.
                loop.execute { bound.value.fail(.noHost(errno: (error as? IOError)?.errnoCode ?? 0)) }
            }
        return handler
    }

    /// - Parameter provider: the provider's name; nil for the host.
    func once(
        _ provider: String?, within limit: Duration,
        _ start: @escaping @Sendable () -> (ProviderConnection, [ProviderConnection.Effect])
    ) async throws -> ProviderConnection.Effect {
        try await loop.flatSubmit {
            let promise = loop.makePromise(of: ProviderConnection.Effect.self)
            let handler = open(provider, start()) { effect in
                if case .failed(let fault) = effect {
                    promise.fail(fault)
                } else {
                    promise.succeed(effect)
                }
            }
            let bound = NIOLoopBound(handler, eventLoop: loop)
            let timer = loop.scheduleTask(in: TimeAmount(limit)) { promise.fail(ProviderFault.timedOut) }
            return promise.futureResult.always { _ in
                timer.cancel()
                bound.value.close()
            }
        }.get()
    }
}
