import AppProtocol

/// The events of one subscription. Where some are missing, a gap comes in their place.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = ClientError

    /// What the device answered: the stream's name, and where it stood.
    public let subscribed: Subscribed
    let events: AsyncThrowingStream<Event, any Error>
    /// The sequence number that the first event follows.
    let position: Int?
    /// What the events come over, and which lasts as long as somebody reads them.
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
            // Without traps: whoever wrote the numbers may have meant harm.
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
