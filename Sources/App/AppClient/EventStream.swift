import AppProtocol

/// The events of one subscription. A gap takes the place of missing ones.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = ClientError

    /// The device's answer: the stream's name, and its newest event.
    public let subscribed: Subscribed
    let events: AsyncThrowingStream<Event, any Error>
    /// The sequence number that the first event follows.
    let position: Int?
    /// The owner of the connection, which lives as long as a reader of the events.
    let source: (any AnyObject & Sendable)?

    public func makeAsyncIterator() -> Iterator {
        Iterator(events: events.makeAsyncIterator(), position: position, source: source)
    }

    public struct Iterator: AsyncIteratorProtocol {
        var events: AsyncThrowingStream<Event, any Error>.Iterator
        /// The last sequence number seen, nil until the first.
        var position: Int?
        let source: (any AnyObject & Sendable)?
        /// An event that a gap was put in front of.
        var held: Event?

        public mutating func next() async throws(ClientError) -> Event? {
            try await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> Event? {
            if let held {
                self.held = nil
                return held
            }
            let event: Event?
            do {
                event = try await events.next(isolation: actor)
            } catch let error as ClientError {
                throw error
            } catch {
                throw .disconnected
            }
            guard let event else { return nil }
            defer { position = event.seq }
            // Without traps: the numbers are hostile input.
            guard let position, event.seq &- position != 1, !event.isGap else { return event }
            held = event
            let previous = event.seq &- 1
            let gap =
                event.seq > position
                ? Gap(reason: .expired, missed: previous &- position)
                : Gap(reason: .restarted, missed: previous)
            return Event(seq: previous, time: event.time, body: .gap(gap))
        }
    }
}

extension Event {
    fileprivate var isGap: Bool { if case .gap = body { true } else { false } }
}
