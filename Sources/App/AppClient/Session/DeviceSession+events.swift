import AppProtocol

extension DeviceSession {
    /// The device's events from now on, across connections: it ends when the session is closed or the reading
    /// task cancelled, and in between it waits for the device to come back. Events of that time come afterwards,
    /// and where the device no longer has it, a gap comes in its place. A reader that is more than 256 events late
    /// misses some too.
    ///
    /// Any number may listen.
    public func events() async throws(ClientError) -> EventStream {
        guard !isClosed else { throw .cancelled }
        // Listens already while it waits for the first subscription, which may end as soon as it has begun.
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

    /// - Returns: the position before the first event that the present listeners get.
    private func start() async throws(ClientError) -> Subscribed {
        readEvents()
        if let position = feed.position { return position }
        for await result in feed.start() { return try result.get() }
        throw .cancelled
    }

    private func removeListener(_ id: Int) { feed.remove(id) }

    /// While it waits for an event it does not hold the session, so that an unused session can end.
    private func readEvents() {
        guard feed.reader == nil else { return }
        feed.reader = Task { [weak self, settings] in
            // Kept across subscriptions: one that ends at once, as over an event that is none, may do so each time.
            var attempts = 0
            while let events = await self?.subscription(&attempts) {
                do {
                    for try await event in events {
                        await self?.tell(event)
                        attempts = 0
                    }
                } catch {
                    // The next subscription tells whether it was for long.
                }
                await self?.rest(settings.pauses.pause(&attempts))
            }
        }
    }

    /// Pauses between two subscriptions, if there are listeners.
    private func rest(_ pause: Duration) async {
        guard !isClosed, feed.isWanted else { return }
        try? await sleep(pause)
    }

    private func tell(_ event: Event) { feed.tell(event) }

    /// The events of a connection, as soon as there is one; nil without listeners.
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
                // Listeners that wait for the first events get the error; those that have had some wait for more.
                feed.started(.failure(error))
            }
            guard feed.isWanted, (try? await sleep(settings.pauses.pause(&attempts))) != nil else { break }
        }
        feed.stopped()
        return nil
    }
}

/// The listeners of a session's events, and their position.
struct EventSubscribers {
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

    /// There are no listeners: the next one begins with new events.
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
