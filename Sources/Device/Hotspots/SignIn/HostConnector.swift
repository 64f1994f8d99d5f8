import AgentModel
import NIOCore
import NIOPosix

/// Opens conversations through the host at a socket, all on one event loop.
struct HostConnector: Sendable {
    let socket: String
    let loop: any EventLoop
    let watch: any OutsideWatch

    /// On the loop only. `tell` is called there too, and not before this has returned.
    /// - Parameter provider: who answers; nil for the host.
    func open(
        _ provider: String?, _ start: (Conversation, [Conversation.Output]),
        tell: @escaping (Conversation.Output) -> Void
    ) -> ConversationHandler {
        loop.preconditionInEventLoop()
        let handler = ConversationHandler(
            start, with: OutsideSource(.provider, provider ?? ""), watchedBy: watch, tell: tell)
        let bound = NIOLoopBound(handler, eventLoop: loop)
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value) }
            }
            .connect(unixDomainSocketPath: socket)
            .whenFailure { error in
                // Not at once, for the caller does not have the handler yet.
                loop.execute { bound.value.fail(.noHost(errno: (error as? IOError)?.errnoCode ?? 0)) }
            }
        return handler
    }

    /// One question, with its time limit.
    /// - Parameters:
    ///   - provider: who is asked; nil for the host.
    ///   - start: makes the conversation.
    func once(
        _ provider: String?, within limit: Duration,
        _ start: @escaping @Sendable () -> (Conversation, [Conversation.Output])
    ) async throws -> Conversation.Output {
        try await loop.flatSubmit {
            let promise = loop.makePromise(of: Conversation.Output.self)
            let handler = open(provider, start()) { output in
                if case .failed(let fault) = output {
                    promise.fail(fault)
                } else {
                    promise.succeed(output)
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
