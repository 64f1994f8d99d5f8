/// Waits until `condition` holds, looking every 10 ms, and throws `LabError.timedOut` if it does not in time.
///
/// The condition is looked at once more after the time is up: a machine too busy to look often is no failure.
public func eventually(
    within limit: Duration, _ what: String, isolation: isolated (any Actor)? = #isolation,
    condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        let isLate = ContinuousClock.now >= deadline
        if try await condition() { return }
        guard !isLate else { throw LabError.timedOut(what: what, limit: limit) }
        try await Task.sleep(for: .milliseconds(10))
    }
}
