import Linux

/// Lets one sequence of commands through at a time, in the order of arrival.
///
/// A join takes several commands with waits in between; without this, one that clears up could remove the network that
/// another is about to select.
@AgentLoop
final class AsyncMutex {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass<Failure: Error>(_ body: @AgentLoop () async throws(Failure) -> Void) async throws(Failure) {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isTaken = true
        }
        defer {
            if waiting.isEmpty {
                isTaken = false
            } else {
                waiting.removeFirst().resume()
            }
        }
        try await body()
    }
}
