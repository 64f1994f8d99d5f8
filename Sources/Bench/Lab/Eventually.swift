/// Waits until `condition` holds, looking again and again, and throws `LabError.timedOut` if it does not in time.
///
/// The condition is looked at once more after the time is up: a machine too busy to look often is no failure.
/// - Parameter interval: how long to wait before looking again; longer where a look is work, for the agent or for another
///   program, since an emulated processor does little beside it.
public func eventually(
    within limit: Duration, every interval: Duration = .milliseconds(10), _ what: String,
    isolation: isolated (any Actor)? = #isolation, condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        let isLate = ContinuousClock.now >= deadline
        if try await condition() { return }
        guard !isLate else { throw LabError.timedOut(what: what, limit: limit) }
        try await Task.sleep(for: interval)
    }
}
