import Lab
import Linux

/// Events in the order in which they came, to wait for the next one that matters.
@AgentLoop
final class Journal<Event: Sendable> {
    private(set) var events: [Event] = []
    /// How many of them a wait has passed over.
    private var read = 0

    nonisolated init() {}

    func record(_ event: Event) { events.append(event) }

    /// The next event that matches, past or to come; those before it are passed over.
    @discardableResult
    func next(within limit: Duration = .seconds(20), where matches: (Event) -> Bool) async throws -> Event {
        let start = read
        do {
            try await eventually(within: limit, "an event") {
                read = events[start...].firstIndex(where: matches).map { $0 + 1 } ?? start
                return read > start
            }
        } catch LabError.timedOut {
            throw LabError.unexpected("an event was waited for in vain; what came: \(events[start...])")
        }
        return events[read - 1]
    }
}
