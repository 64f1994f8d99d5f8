import Synchronization

/// A clock that stands still until it is moved.
package final class SteppedClock: Clock {
    package struct Instant: InstantProtocol {
        package var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var lastTicket = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]

        /// How many sleepers have this long to go.
        func sleepers(for nap: Duration) -> Int { sleepers.values.count { now.duration(to: $0.deadline) == nap } }
    }

    private let state = Observed(State())

    package init() {}

    package var now: Instant { state.value.now }
    package var minimumResolution: Duration { .milliseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let ticket = state.change { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let end: Result<Void, any Error>? = state.change { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard deadline > state.now else { return .success(()) }
                    state.sleepers[ticket] = (deadline, continuation)
                    return nil
                }
                if let end { continuation.resume(with: end) }
            }
        } onCancel: {
            state.change { $0.sleepers.removeValue(forKey: ticket) }?.continuation.resume(throwing: CancellationError())
        }
    }

    package func advance(by duration: Duration) {
        let due = state.change { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for ticket in due.keys { state.sleepers[ticket] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Returns once so many sleep who have this long to go.
    package func sleeps(for duration: Duration, by count: Int = 1) async throws {
        try await state.wait("\(count) sleep for \(duration)") { $0.sleepers(for: duration) >= count }
    }
}

/// A clock that jumps ahead by every sleep, which ends at once.
package final class SkippingClock: Clock {
    package struct Instant: InstantProtocol {
        package var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let slept = Mutex<[Duration]>([])

    package init() {}

    package var pauses: [Duration] { slept.withLock { $0 } }
    package var now: Instant { Instant(offset: pauses.reduce(.zero, +)) }
    package var minimumResolution: Duration { .zero }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        let pause = now.duration(to: deadline)
        slept.withLock { $0.append(pause) }
    }
}
