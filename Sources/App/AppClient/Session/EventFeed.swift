import AppProtocol

/// Who listens to a session's events, and how far they have come.
struct EventFeed {
    typealias Listener = AsyncThrowingStream<Event, any Error>.Continuation

    /// The stream of the device that is being read and the last event that came, nil before the first subscription.
    private(set) var position: Subscribed?
    /// Reads the events of one connection after the other.
    var reader: Task<Void, Never>?
    private var lastID = 0
    private var listeners: [Int: Listener] = [:]
    private var awaitingStart: [AsyncStream<Result<Subscribed, ClientError>>.Continuation] = []

    var isWanted: Bool { !listeners.isEmpty || !awaitingStart.isEmpty }

    mutating func add(_ listener: Listener) -> Int {
        lastID += 1
        listeners[lastID] = listener
        return lastID
    }

    mutating func remove(_ id: Int) { listeners[id] = nil }

    /// - Returns: one result, when the first subscription has succeeded or failed.
    mutating func start() -> AsyncStream<Result<Subscribed, ClientError>> {
        let (results, continuation) = AsyncStream.makeStream(of: Result<Subscribed, ClientError>.self)
        awaitingStart.append(continuation)
        return results
    }

    mutating func started(_ result: Result<Subscribed, ClientError>) {
        for continuation in awaitingStart {
            continuation.yield(result)
            continuation.finish()
        }
        awaitingStart = []
    }

    /// Nobody listens, and nobody remembers where the reading ended: whoever listens next begins with what is new then.
    mutating func stopped() {
        reader = nil
        position = nil
    }

    /// A device that has restarted counts anew, and says so with a gap before its first event.
    mutating func subscribed(_ answer: Subscribed) {
        if let position {
            if position.stream != answer.stream { self.position = Subscribed(seq: 0, stream: answer.stream) }
        } else {
            position = answer
        }
        started(.success(answer))
    }

    mutating func tell(_ event: Event) {
        if let position { self.position = Subscribed(seq: event.seq, stream: position.stream) }
        for listener in listeners.values { listener.yield(event) }
    }

    func end() {
        reader?.cancel()
        for listener in listeners.values { listener.finish() }
        for continuation in awaitingStart { continuation.finish() }
    }
}
