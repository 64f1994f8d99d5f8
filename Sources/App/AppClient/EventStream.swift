import AppProtocol

/// The events of a device, in order. A ``Gap`` stands for lost events. When the connection is lost, the stream of a
/// ``DeviceClient`` throws ``ClientError``. The stream of a ``DeviceSession`` continues.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = ClientError

    /// The device's answer: name of the stream, and sequence number of its newest event.
    public let subscribed: Subscribed
    let events: AsyncThrowingStream<Event, any Error>
    /// Sequence number before the first event of this stream.
    let position: Int?
    /// Owner of the connection, kept alive while the events are read.
    let source: (any AnyObject & Sendable)?

    public func makeAsyncIterator() -> Iterator {
        Iterator(events: events.makeAsyncIterator(), position: position, source: source)
    }

    public struct Iterator: AsyncIteratorProtocol {
        var events: AsyncThrowingStream<Event, any Error>.Iterator
        /// Last sequence number; nil before the first event.
        var position: Int?
        let source: (any AnyObject & Sendable)?
        /// Event that follows an inserted gap.
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
            // Use wrapping arithmetic, because the numbers are untrusted input.
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
