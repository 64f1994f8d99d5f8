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
        var watchers: [(nap: Duration, count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// How many sleepers have this long to go.
        func sleepers(for nap: Duration) -> Int { sleepers.values.count { now.duration(to: $0.deadline) == nap } }
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .milliseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                update { state in
                    if Task.isCancelled {
                        return [{ continuation.resume(throwing: CancellationError()) }]
                    }
                    guard deadline > state.now else { return [{ continuation.resume() }] }
                    state.sleepers[ticket] = (deadline, continuation)
                    return []
                }
            }
        } onCancel: {
            update { state in
                guard let sleeper = state.sleepers.removeValue(forKey: ticket) else { return [] }
                return [{ sleeper.continuation.resume(throwing: CancellationError()) }]
            }
        }
    }

    package func advance(by duration: Duration) {
        update { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for ticket in due.keys { state.sleepers[ticket] = nil }
            return due.values.map { sleeper in { sleeper.continuation.resume() } }
        }
    }

    /// Returns once so many sleep who have this long to go.
    package func sleeps(for duration: Duration, by count: Int = 1) async {
        await withCheckedContinuation { continuation in
            update { state in
                state.watchers.append((duration, count, continuation))
                return []
            }
        }
    }

    /// Changes the state, then resumes whom that concerns.
    private func update(_ change: (inout State) -> [@Sendable () -> Void]) {
        let resumptions = state.withLock { state -> [@Sendable () -> Void] in
            var resumptions = change(&state)
            let met = state.watchers.map { state.sleepers(for: $0.nap) >= $0.count }
            for (watcher, isMet) in zip(state.watchers, met) where isMet {
                resumptions.append { watcher.continuation.resume() }
            }
            state.watchers = zip(state.watchers, met).filter { !$0.1 }.map(\.0)
            return resumptions
        }
        for resume in resumptions { resume() }
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
