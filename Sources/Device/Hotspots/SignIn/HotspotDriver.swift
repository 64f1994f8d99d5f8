import AgentModel
import NIOCore

/// Performs the effects of ``SignIn`` on a single event loop.
final class HotspotDriver {
    private var signIn: SignIn
    private let connector: HostConnector
    private let now: @Sendable () -> Instant
    private let remembered: ([RememberedProvider]) -> Void
    private let changed: (HotspotStatus) -> Void
    private var connections: [SignIn.ConnectionID: ProviderConnectionHandler] = [:]
    private var timer: (deadline: Instant, task: Scheduled<Void>)?
    private var loggedOff: [EventLoopPromise<Void>] = []

    init(
        _ signIn: SignIn, _ connector: HostConnector, now: @escaping @Sendable () -> Instant,
        remembered: @escaping ([RememberedProvider]) -> Void, changed: @escaping (HotspotStatus) -> Void
    ) {
        self.signIn = signIn
        self.connector = connector
        self.now = now
        self.remembered = remembered
        self.changed = changed
    }

    func receive(_ event: SignIn.Event) {
        let before = Set(signIn.remembered.entries)
        defer {
            // Compares sets, because the order changes with each sign-in and is not worth storing.
            if Set(signIn.remembered.entries) != before { remembered(signIn.remembered.entries) }
        }
        for effect in signIn.handle(event, at: now()) {
            switch effect {
            case .list(let number): open(number, nil, ProviderConnection.listing())
            case .open(let number, let provider, let content):
                open(number, provider, ProviderConnection.opening(provider, content))
            case .ask(let number, let content): connections[number]?.ask(content)
            case .end(let number): connections.removeValue(forKey: number)?.close()
            }
        }
        setTimer()
        changed(signIn.status)
        if !signIn.isLoggingOff {
            for promise in loggedOff { promise.succeed() }
            loggedOff = []
        }
    }

    /// - Returns: a future that completes when the provider has logged off or failed, or at once without a session.
    func logOff() -> EventLoopFuture<Void> {
        let promise = connector.loop.makePromise(of: Void.self)
        loggedOff.append(promise)
        receive(.logOff)
        return promise.futureResult
    }

    private func open(
        _ number: SignIn.ConnectionID, _ provider: String?, _ start: (ProviderConnection, [ProviderConnection.Effect])
    ) {
        connections[number] = connector.open(provider, start) { [weak self] effect in
            guard let self, self.connections[number] != nil else { return }
            switch effect {
            case .send: break
            case .listed(let list):
                self.connections.removeValue(forKey: number)?.close()
                self.receive(.listed(number, list))
            case .answer(let answer): self.receive(.answer(number, answer))
            case .failed(let fault):
                self.connections.removeValue(forKey: number)?.close()
                self.receive(.failed(number, fault))
            }
        }
    }

    private func setTimer() {
        guard timer?.deadline != signIn.deadline else { return }
        timer?.task.cancel()
        timer = signIn.deadline.map { deadline in
            let bound = NIOLoopBound(self, eventLoop: connector.loop)
            let task = connector.loop.scheduleTask(in: TimeAmount(max(deadline - now(), .zero))) {
                bound.value.timer = nil
                bound.value.receive(.timePassed)
            }
            return (deadline, task)
        }
    }
}
