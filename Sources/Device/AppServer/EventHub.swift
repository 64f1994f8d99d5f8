import AppProtocol
import Synchronization

/// Keeps the last events for any number of subscribers.
///
/// All subscribers share one ring of events, so memory and publishing time do not depend on their number. A subscriber
/// that reads too slowly gets a `gap` event.
public final class EventHub: Sendable {
    /// Random ID of this run of the agent.
    public let stream: String

    private let capacity: Int
    private let state = Mutex(State())

    public static let usualCapacity = 256

    /// - Parameter capacity: number of kept events, at least 1.
    public init(capacity: Int = EventHub.usualCapacity) {
        self.capacity = max(1, capacity)
        stream = String(UInt64.random(in: .min ... .max), radix: 36)
    }

    public func publish(_ body: Event.Body, at time: Timestamp = .now) {
        let waiting = state.withLock { state in
            state.lastSequence += 1
            let event = Event(seq: state.lastSequence, time: time, body: body)
            if state.ring.count < capacity {
                state.ring.append(event)
            } else {
                state.ring[(event.seq - 1) % capacity] = event
            }
            defer { state.waiting.removeAll(keepingCapacity: true) }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Number of the last event; 0 before the first one.
    public var lastSequence: Int { state.withLock { $0.lastSequence } }

    public func subscribe() -> EventFeed {
        let last = lastSequence
        return EventFeed(hub: self, after: last, upTo: last, restarted: false)
    }

    /// - Parameter request: start position. If it is empty, the feed starts with the next event.
    /// - Throws: `malformed` for a future sequence number. Numbers of other streams are not checked.
    public func subscribe(_ request: EventSubscription) throws(ProtocolError) -> EventFeed {
        guard let since = request.since else { return subscribe() }
        let last = lastSequence
        let restarted = request.stream.map { $0 != stream } ?? false
        guard (0...(restarted ? Int.max : last)).contains(since) else {
            let remedy =
                request.stream == nil
                ? "; send the stream of the previous answer with it, or omit it and read the state again" : ""
            throw ProtocolError(
                .malformed, "body.since must be a number from 0 to \(last)" + remedy,
                details: ["field": "body.since"])
        }
        return EventFeed(hub: self, after: restarted ? 0 : since, upTo: last, restarted: restarted)
    }

    private struct State {
        var lastSequence = 0
        /// Kept events. Event n is at index (n - 1) mod capacity.
        var ring: [Event] = []
        var nextTicket = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }
}

extension EventHub {
    /// Returns the first event after `position`, or a gap up to the oldest kept event; nil until there is one.
    fileprivate func event(after position: Int) -> Event? {
        state.withLock { state in
            guard position < state.lastSequence, let newest = state.ring.indices.last else { return nil }
            let oldest = state.lastSequence - newest
            guard position + 1 < oldest else { return state.ring[position % capacity] }
            let gap = Gap(reason: .expired, missed: oldest - 1 - position)
            return Event(seq: oldest - 1, time: state.ring[(oldest - 1) % capacity].time, body: .gap(gap))
        }
    }

    fileprivate var forgotten: Int { state.withLock { $0.lastSequence - $0.ring.count } }

    /// Returns when there may be an event after `position`, or on cancellation.
    fileprivate func wait(after position: Int) async {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    guard position == state.lastSequence, !Task.isCancelled else { return true }
                    state.waiting[ticket] = continuation
                    return false
                }
                if isLate { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
        }
    }
}

/// A subscriber's events from its start position. Ends only when the reading task is cancelled.
public struct EventFeed: AsyncSequence, AsyncIteratorProtocol, Sendable {
    public typealias Element = Event
    public typealias Failure = Never

    private let hub: EventHub
    private var position: Int
    private var restarted: Bool

    fileprivate init(hub: EventHub, after position: Int, upTo last: Int, restarted: Bool) {
        self.hub = hub
        self.position = position
        self.restarted = restarted
        answer = Subscribed(seq: last, stream: hub.stream)
    }

    public let answer: Subscribed

    public func makeAsyncIterator() -> EventFeed { self }

    /// - Returns: nil after cancellation.
    public mutating func next() async -> Event? {
        while !Task.isCancelled {
            if restarted {
                restarted = false
                position = hub.forgotten
                return Event(seq: position, time: .now, body: .gap(Gap(reason: .restarted, missed: position)))
            }
            if let event = hub.event(after: position) {
                position = event.seq
                return event
            }
            await hub.wait(after: position)
        }
        return nil
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Event? { await next() }
}
