import AgentModel
import NIOCore
import NIOHTTP1
import NIOSSL

/// Performs the machine's effects on a single event loop.
final class ConnectionRunner {
    private var machine: ConnectionMachine
    private var generator = SystemRandomNumberGenerator()
    private var opener: ConnectionOpener
    private let keepAlive: KeepAlive
    private let freshness: Duration
    private let answerLimit: Duration
    private let loop: any EventLoop
    private let now: @Sendable () -> Instant
    private let onChange: @Sendable (ConnectionStatus) -> Void
    private let onDoubt: @Sendable (ReachProblem) -> Void

    private var connect: Connector?
    private var attempt: Task<Void, Never>?
    private var channel: (any Channel)?
    private var timer: Scheduled<Void>?
    /// Last time when an earlier connection showed that the other side answers.
    private var heard: Instant?
    /// Result for the callers that wait for the current attempt.
    private var outcome: EventLoopPromise<ReachProblem?>?
    /// Result for the callers that wait for the second connection.
    private var secondOpinion: EventLoopPromise<ReachProblem?>?

    init(
        _ machine: ConnectionMachine, opener: ConnectionOpener, freshness: Duration, answerLimit: Duration,
        loop: any EventLoop, now: @escaping @Sendable () -> Instant,
        onChange: @escaping @Sendable (ConnectionStatus) -> Void,
        onDoubt: @escaping @Sendable (ReachProblem) -> Void
    ) {
        self.machine = machine
        (self.opener, keepAlive) = (opener, opener.keepAlive)
        self.freshness = freshness
        self.answerLimit = answerLimit
        self.loop = loop
        self.now = now
        self.onChange = onChange
        self.onDoubt = onDoubt
    }

    func start(by connect: @escaping Connector, keepAliveFactor: Int) {
        self.connect = connect
        opener.keepAlive = keepAlive.stretched(by: keepAliveFactor)
        heard = nil
        handle(.network)
    }

    func handle(_ event: ConnectionMachine.Event) {
        let before = machine.phase
        for effect in machine.handle(event, at: now(), using: &generator) { perform(effect) }
        switch (before, machine.phase) {
        case (_, .open): settle(nil)
        case (.opening, .pausing), (_, .idle), (_, .stopped): settle(machine.status.reason ?? .noAddress)
        default: break
        }
    }

    private func perform(_ effect: ConnectionMachine.Effect) {
        switch effect {
        case .open(let number, let limit): open(number, within: limit)
        case .drop:
            attempt?.cancel()
            channel?.close(promise: nil)
            channel = nil
        case .wake(let end):
            timer?.cancel()
            timer = loop.assumeIsolated().scheduleTask(in: TimeAmount(end - now())) { self.handle(.timer) }
        case .report(let status): onChange(status)
        case .doubt(let problem): onDoubt(problem)
        }
    }

    private func open(_ number: Int, within limit: Duration) {
        guard let connect else { return }
        timer?.cancel()
        let (loop, bound) = (loop, NIOLoopBound(self, eventLoop: loop))
        attempt = opener.open(by: connect, within: limit, answer: answerLimit) { event in
            loop.run { bound.value.handle(event, of: number) }
        }
    }

    private func handle(_ event: ConnectionHandler.Event, of number: Int) {
        let isCurrent = machine.phase.attempt == number
        switch event {
        case .connected(let connected):
            // A cancelled attempt may still open a connection.
            guard isCurrent else { return connected.close(promise: nil) }
            channel = connected
            handle(.connected(attempt: number))
        case .opened:
            handle(.opened(attempt: number, isFar: channel?.isFar ?? false))
        case .ended(let problem):
            guard isCurrent else { return }
            channel = nil
            // A regular close proves that the server was reachable.
            if problem == nil { heard = now() }
            handle(.ended(attempt: number, problem))
        }
    }

    private func settle(_ problem: ReachProblem?) {
        outcome?.succeed(problem)
        outcome = nil
    }
}

extension ConnectionRunner {
    func lastHeard() -> EventLoopFuture<Instant?> {
        guard case .open = machine.phase, let channel else { return loop.makeSucceededFuture(heard) }
        let (now, heard) = (now, heard)
        return channel.silence().map { silence in silence.map { now() - $0 } ?? heard }.hop(to: loop)
    }

    /// Checks whether the other side answers. Call this on the loop.
    /// - Returns: the problem; nil if the other side answers.
    func probe(within limit: Duration, freshness: Duration?) -> EventLoopFuture<ReachProblem?> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        return lastHeard().flatMap { heard in
            bound.value.probe(within: limit, freshness: freshness ?? bound.value.freshness, heard: heard)
        }
    }

    private func probe(within limit: Duration, freshness: Duration, heard: Instant?) -> EventLoopFuture<ReachProblem?> {
        if machine.status.state == .ready, let heard, now() - heard <= freshness {
            return loop.makeSucceededFuture(nil)
        }
        switch machine.phase {
        case .idle, .stopped:
            return loop.makeSucceededFuture(machine.status.reason ?? .noAddress)
        case .open:
            return askAgain(within: limit).futureResult.bounded(by: limit)
        case .opening, .pausing:
            let outcome = outcome ?? loop.makePromise()
            self.outcome = outcome
            // Leaves time for the attempt to report its own failure.
            handle(.hurry(limit: limit * 9 / 10))
            return outcome.futureResult.bounded(by: limit)
        }
    }

    /// Tests a silent connection by opening a second one, which gives a result sooner.
    private func askAgain(within limit: Duration) -> EventLoopPromise<ReachProblem?> {
        if let secondOpinion { return secondOpinion }
        let promise = loop.makePromise(of: ReachProblem?.self)
        guard let connect else {
            promise.succeed(.noAddress)
            return promise
        }
        secondOpinion = promise
        let (loop, bound) = (loop, NIOLoopBound(self, eventLoop: loop))
        let visitor = NIOLoopBoundBox.makeEmptyBox(valueType: (any Channel).self, eventLoop: loop)
        let attempt = opener.open(by: connect, within: limit * 9 / 10, answer: limit * 9 / 10) { event in
            loop.run {
                switch event {
                case .connected(let channel): visitor.value = channel
                case .opened: bound.value.conclude(promise, nil)
                case .ended(let problem): bound.value.conclude(promise, problem ?? .connectionReset)
                }
            }
        }
        promise.futureResult.whenComplete { _ in
            attempt.cancel()
            visitor.value?.close(promise: nil)
        }
        return promise
    }

    private func conclude(_ promise: EventLoopPromise<ReachProblem?>, _ problem: ReachProblem?) {
        guard secondOpinion?.futureResult === promise.futureResult else { return }
        secondOpinion = nil
        promise.succeed(problem)
    }
}

extension Channel {
    /// Whether the other end has a global address.
    fileprivate var isFar: Bool { remoteAddress?.ipAddress.flatMap { IPAddress($0) }?.isGlobal ?? false }
}

extension EventLoop {
    /// Runs the closure on the loop. Runs it at once if the caller is on the loop, to keep the order.
    fileprivate func run(_ body: @escaping @Sendable () -> Void) {
        if inEventLoop { body() } else { execute(body) }
    }
}

extension EventLoopFuture<ReachProblem?> {
    /// Completes with `timedOut` after the limit.
    fileprivate func bounded(by limit: Duration) -> EventLoopFuture<ReachProblem?> {
        let promise = eventLoop.makePromise(of: ReachProblem?.self)
        let timer = eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.succeed(.timedOut) }
        whenComplete { result in
            timer.cancel()
            promise.completeWith(result)
        }
        return promise.futureResult
    }
}

/// Opens a connection within a time limit. `setUp` runs before the first read.
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

struct ConnectionOpener: Sendable {
    let target: Target
    let trust: TargetTrust?
    var keepAlive: KeepAlive

    /// - Parameters:
    ///   - limit: time for name and connection.
    ///   - answerLimit: time for name, connection, TLS and the first answer.
    ///   - report: called from any thread. `ended` is last, unless the task is cancelled.
    func open(
        by connect: @escaping Connector, within limit: Duration, answer answerLimit: Duration,
        report: @escaping @Sendable (ConnectionHandler.Event) -> Void
    ) -> Task<Void, Never> {
        let deadline = NIODeadline.now() + TimeAmount(answerLimit)
        return Task {
            guard !target.isTLS || trust != nil else { return report(.ended(.tlsFailed)) }
            let report: @Sendable (ConnectionHandler.Event) -> Void = { event in
                if case .ended(.tlsFailed?) = event, trust?.isClockSet() == false {
                    report(.ended(.clockNotSet))
                } else {
                    report(event)
                }
            }
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
            // Without a name, NIOSSL checks the certificate against the address of the connection.
            let name = target.isAddress ? nil : target.host
            try pipeline.addHandler(try NIOSSLClientHandler(context: trust.context, serverHostname: name))
        }
        try ConnectionHandler.add(to: pipeline, target, keepAlive: keepAlive, deadline: deadline, report: report)
    }
}

extension ReachProblem {
    init(_ error: any Error) {
        self =
            switch error {
            case let error as ConnectFailure: error.problem
            case let error as IOError: ConnectFailure(errno: error.errnoCode).problem
            case is UnexpectedAnswer: .unexpectedAnswer
            case HTTPParserError.invalidEOFState: .connectionReset
            case is HTTPParserError, is NIOHTTPDecoderError: .unexpectedAnswer
            case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: .tlsFailed
            default: .connectionReset
            }
    }
}
