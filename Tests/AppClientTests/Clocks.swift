import AppClient
import Synchronization

/// A clock on which sleeping takes no time, and moves it.
final class SkippingClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let slept = Mutex<[Duration]>([])

    var pauses: [Duration] { slept.withLock { $0 } }
    var now: Instant { Instant(offset: pauses.reduce(.zero, +)) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        let pause = now.duration(to: deadline)
        slept.withLock { $0.append(pause) }
    }
}

/// A clock whose every sleep ends when the test says so.
final class GatedClock: Clock {
    let gate = Gate()

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        await gate.pass()
        try Task.checkCancellation()
    }
}

extension DeviceSession.Settings {
    /// For a session whose time passes when the test says so.
    static func moved(by clock: GatedClock) -> Self {
        var settings = Self.quick
        settings.clock = clock
        return settings
    }
}
