import NIOCore
import NIOPosix

/// Opens conversations through the host at a socket, all on one event loop.
struct HostConnector: Sendable {
    let socket: String
    let loop: any EventLoop

    /// On the loop only. `tell` is called there too, and not before this has returned.
    func open(
        _ start: (Conversation, [Conversation.Output]), tell: @escaping (Conversation.Output) -> Void
    ) -> ConversationHandler {
        loop.preconditionInEventLoop()
        let handler = ConversationHandler(start, tell: tell)
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
    /// - Parameter start: makes the conversation.
    func once(
        within limit: Duration, _ start: @escaping @Sendable () -> (Conversation, [Conversation.Output])
    ) async throws -> Conversation.Output {
        try await loop.flatSubmit {
            let promise = loop.makePromise(of: Conversation.Output.self)
            let handler = open(start()) { output in
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
