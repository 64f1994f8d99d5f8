import AppProtocol

extension DeviceSession {
    /// Returns the device's events from now on, across connections. Any number of callers can read them.
    ///
    /// The stream ends when the session closes or the reading task is cancelled. A gap replaces events that the device
    /// no longer has. It also replaces the events that a reader misses when it is more than 256 events late.
    public func events() async throws(ClientError) -> EventStream {
        guard !isClosed else { throw .cancelled }
        // Add the listener first, because a subscription without listeners ends.
        let (events, listener) = AsyncThrowingStream<Event, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(256))
        let id = feed.add(listener)
        listener.onTermination = { [weak self] _ in Task { await self?.removeListener(id) } }
        do {
            let position = try await start()
            return EventStream(subscribed: position, events: events, position: position.seq, source: self)
        } catch {
            feed.remove(id)
            throw error
        }
    }

    /// - Returns: the position before the first event that the current listeners get.
    private func start() async throws(ClientError) -> Subscribed {
        readEvents()
        if let position = feed.position { return position }
        for await result in feed.start() { return try result.get() }
        throw .cancelled
    }

    private func removeListener(_ id: Int) { feed.remove(id) }

    /// Starts a task that reads events. The task holds no reference to the session while it waits, so an unused session
    /// can end.
    private func readEvents() {
        guard feed.reader == nil else { return }
        feed.reader = Task { [weak self, settings] in
            // Count attempts across subscriptions, because a malformed event may end each one at once.
            var attempts = 0
            while let events = await self?.subscription(&attempts) {
                do {
                    for try await event in events {
                        await self?.notify(event)
                        attempts = 0
                    }
                } catch {
                    // The loop subscribes again.
                }
                await self?.rest(settings.pauses.pause(&attempts))
            }
        }
    }

    private func rest(_ pause: Duration) async {
        guard !isClosed, feed.isWanted else { return }
        try? await sleep(pause)
    }

    private func notify(_ event: Event) { feed.notify(event) }

    private func subscription(_ attempts: inout Int) async -> EventStream? {
        while !isClosed, feed.isWanted {
            do throws(ClientError) {
                let client = try await connected()
                do throws(ClientError) {
                    let since = feed.position
                    let events = try await client.events(EventSubscription(since: since?.seq, stream: since?.stream))
                    feed.subscribed(events.subscribed)
                    return events
                } catch {
                    if error.isLoss { lose(client) }
                    throw error
                }
            } catch {
                // Report the error only to listeners that wait for the start. The others keep waiting.
                feed.started(.failure(error))
            }
            guard feed.isWanted, (try? await sleep(settings.pauses.pause(&attempts))) != nil else { break }
        }
        feed.stopped()
        return nil
    }
}

struct EventSubscribers {
    typealias Listener = AsyncThrowingStream<Event, any Error>.Continuation

    /// Stream and sequence number of the last event; nil before the first subscription.
    private(set) var position: Subscribed?
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

    /// - Returns: a stream with one result, that of the first subscription.
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

    /// Resets the position: the next listener starts with new events.
    mutating func stopped() {
        reader = nil
        position = nil
    }

    /// Sets the position after a subscription. A restarted device has a new stream: it counts from 1 and sends a gap
    /// first, so the position is 0.
    mutating func subscribed(_ answer: Subscribed) {
        if let position {
            if position.stream != answer.stream { self.position = Subscribed(seq: 0, stream: answer.stream) }
        } else {
            position = answer
        }
        started(.success(answer))
    }

    mutating func notify(_ event: Event) {
        if let position { self.position = Subscribed(seq: event.seq, stream: position.stream) }
        for listener in listeners.values { listener.yield(event) }
    }

    func end() {
        reader?.cancel()
        for listener in listeners.values { listener.finish() }
        for continuation in awaitingStart { continuation.finish() }
    }
}
