import Linux

/// Collects events, and waits for one with a deadline.
@AgentLoop
public final class Journal<Event: Sendable> {
    public private(set) var events: [Event] = []
    /// How many of them a wait has passed over.
    private var read = 0
    private var waiter: (matches: (Event) -> Bool, resume: (Event?) -> Void, deadline: LoopTimer)?

    public nonisolated init() {}

    public func record(_ event: Event) {
        events.append(event)
        guard let waiter, waiter.matches(event) else { return }
        read = events.count
        self.waiter = nil
        waiter.resume(event)
    }

    /// The next event that matches, past or to come, and forgets those before it.
    public func next(within deadline: Duration = .seconds(20), where matches: @escaping (Event) -> Bool) async throws
        -> Event
    {
        if let index = events[read...].firstIndex(where: matches) {
            read = index + 1
            return events[index]
        }
        let event = await withCheckedContinuation { continuation in
            waiter = (
                matches, { continuation.resume(returning: $0) },
                LoopTimer(after: deadline) { [weak self] in
                    self?.waiter?.resume(nil)
                    self?.waiter = nil
                }
            )
        }
        guard let event else { throw NothingHappened(instead: events.map { "\($0)" }) }
        return event
    }
}

public struct NothingHappened: Error {
    public let instead: [String]

    public init(instead: [String]) { self.instead = instead }
}
