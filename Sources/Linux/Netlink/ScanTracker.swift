/// Tells the end of our own scan from the ends of others'.
///
/// The kernel does one scan at a time on a radio, and events and answers come in one order. So the end is ours if it
/// comes after the scan was accepted, or if a start and this end came between the request and its acceptance: a short scan
/// can be over before the kernel has sent its acknowledgement.
struct ScanTracker: Equatable {
    private enum State: Equatable {
        case idle
        case requested(since: Seen)
        case running
    }

    /// What was seen since the request.
    private enum Seen: Equatable {
        case nothing
        case start
        case end(aborted: Bool)
    }

    private var state = State.idle

    var isIdle: Bool { state == .idle }

    /// Whether the scan that is under way is ours.
    var isRunning: Bool { state == .running }

    mutating func request() { state = .requested(since: .nothing) }

    /// The kernel accepted the scan.
    /// - Returns: whether it was aborted, if it is over already.
    mutating func accepted() -> Bool? {
        guard case .requested(let seen) = state else { return nil }
        if case .end(let aborted) = seen {
            state = .idle
            return aborted
        }
        state = .running
        return nil
    }

    /// Some scan of the interface started.
    mutating func started() {
        if case .requested = state { state = .requested(since: .start) }
    }

    /// Some scan of the interface ended.
    /// - Returns: whether it was aborted, if it was ours.
    mutating func ended(aborted: Bool) -> Bool? {
        switch state {
        case .idle, .requested(since: .nothing), .requested(since: .end): return nil
        case .requested(since: .start):
            state = .requested(since: .end(aborted: aborted))
            return nil
        case .running:
            state = .idle
            return aborted
        }
    }

    /// The scan was refused or is given up.
    mutating func forget() { state = .idle }
}
