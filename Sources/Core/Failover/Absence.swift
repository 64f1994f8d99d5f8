import AgentModel

/// How long scans looked for the preferred network in vain. One scan does not always show what is there: so only the time from the first to the
/// last of them counts.
struct Absence: Hashable, Sendable {
    private var first: Instant?
    private var last: Instant?

    mutating func missed(at now: Instant) {
        first = first ?? now
        last = now
    }

    /// It is there.
    /// - Returns: how long it had been away; nil where no scan had missed it.
    mutating func end() -> Duration? {
        guard let first, let last else { return nil }
        self = Absence()
        return last - first
    }
}
