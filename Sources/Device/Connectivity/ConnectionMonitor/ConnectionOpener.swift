import AgentModel
import NIOCore
import NIOSSL

/// How a connection is made: where to, how long it may take, and what is done with it before anything is read from it.
typealias Connector =
    @Sendable (
        _ target: Target, _ limit: Duration, _ setUp: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> any Channel

extension InterfaceNetwork {
    var connector: Connector {
        { target, limit, setUp in
            try await connect(host: target.host, port: target.port, within: limit, setUp: setUp)
        }
    }
}

/// Makes connections on which the other side shows that it lives.
struct ConnectionOpener: Sendable {
    let target: Target
    let trust: TargetTrust?
    let keepAlive: KeepAlive

    /// - Parameters:
    ///   - limit: for the name and the connection.
    ///   - answerLimit: for these, the keys and the first answer.
    ///   - report: is told what happens, from any thread. The last thing is `ended`, if the task is not cancelled.
    func open(
        by connect: @escaping Connector, within limit: Duration, answer answerLimit: Duration,
        report: @escaping @Sendable (ConnectionHandler.Event) -> Void
    ) -> Task<Void, Never> {
        let deadline = NIODeadline.now() + TimeAmount(answerLimit)
        return Task {
            guard !target.isTLS || trust != nil else { return report(.ended(.tlsFailed)) }
            do {
                _ = try await connect(target, limit) { channel in
                    try setUp(channel, until: deadline, report: report)
                }
            } catch {
                report(.ended(ReachProblem(error)))
            }
        }
    }

    private func setUp(
        _ channel: any Channel, until deadline: NIODeadline,
        report: @escaping @Sendable (ConnectionHandler.Event) -> Void
    ) throws {
        try channel.keepAlive(keepAlive)
        let pipeline = channel.pipeline.syncOperations
        if target.isTLS, let trust {
            // What is asked for by address has to prove the address (NIOSSL takes that of the connection).
            let name = target.isAddress ? nil : target.host
            try pipeline.addHandler(try NIOSSLClientHandler(context: trust.context, serverHostname: name))
        }
        try pipeline.addHandler(
            ConnectionHandler(target, keepAlive: keepAlive, deadline: deadline, report: report))
    }
}
