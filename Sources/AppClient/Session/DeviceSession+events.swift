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
        if feed.position == nil {
            let results = feed.start()
            readEvents()
            for await result in results { try result.get() }
        }
        guard !isClosed, let position = feed.position else { throw .cancelled }
        let (events, listener) = AsyncThrowingStream<Event, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(256))
        let id = feed.add(listener)
        listener.onTermination = { [weak self] _ in Task { await self?.removeListener(id) } }
        readEvents()
        return EventStream(subscribed: position, events: events, position: position.seq, source: self)
    }

    private func removeListener(_ id: Int) { feed.remove(id) }

    /// While it waits for an event it does not hold the session, so that a session that nobody uses can end.
    private func readEvents() {
        guard feed.reader == nil else { return }
        feed.reader = Task { [weak self] in
            while let events = await self?.subscription() {
                do {
                    for try await event in events { await self?.tell(event) }
                } catch {
                    // The next subscription tells whether it was for long.
                }
            }
        }
    }

    private func tell(_ event: Event) { feed.tell(event) }

    /// The events of a connection, as soon as there is one; nil when nobody wants them any more.
    private func subscription() async -> EventStream? {
        var pauses = settings.pauses
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
            guard feed.isWanted, (try? await sleep(pauses.next())) != nil else { break }
        }
        feed.stopped()
        return nil
    }
}
