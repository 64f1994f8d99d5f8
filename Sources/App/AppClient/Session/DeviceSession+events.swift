import AppProtocol

extension DeviceSession {
    /// What happens on the device from now on, across connections: it ends when the session is closed or the reading
    /// task cancelled, and in between it waits for the device to come back. What was missed meanwhile comes afterwards,
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

    /// - Returns: what the first event follows that whoever listens already will hear.
    private func start() async throws(ClientError) -> Subscribed {
        readEvents()
        if let position = feed.position { return position }
        for await result in feed.start() { return try result.get() }
        throw .cancelled
    }

    private func removeListener(_ id: Int) { feed.remove(id) }

    /// While it waits for an event it does not hold the session, so that a session that nobody uses can end.
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

    /// Pauses between two subscriptions, unless nobody waits for the next one.
    private func rest(_ pause: Duration) async {
        guard !isClosed, feed.isWanted else { return }
        try? await sleep(pause)
    }

    private func tell(_ event: Event) { feed.tell(event) }

    /// The events of a connection, as soon as there is one; nil when nobody wants them any more.
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
                // Who wants the first events learns why there are none; who has had some waits for more.
                feed.started(.failure(error))
            }
            guard feed.isWanted, (try? await sleep(settings.pauses.pause(&attempts))) != nil else { break }
        }
        feed.stopped()
        return nil
    }
}
