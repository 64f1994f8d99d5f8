import Glibc

/// When within a second something happens. The kernel looks for lost beacons on whole seconds of its clock, so that how long
/// a loss takes to be noticed depends on that, and runs in virtual time would all have the same.
struct Phase: Equatable {
    /// In parts of a second.
    let fraction: Double

    /// Of runs counted from 0, as many as there may be: spread evenly, and the same for every stack.
    init(ofRun number: Int) {
        let step = 0.6180339887498949
        fraction = (0.05 + Double(number) * step).truncatingRemainder(dividingBy: 1)
    }

    /// From `moment`, since the clock began, to the next moment of this phase.
    func distance(from moment: Duration) -> Duration {
        let (seconds, rest) = moment.components
        let wanted = Duration.seconds(fraction)
        let now = moment - .seconds(seconds)
        return rest == 0 || now <= wanted ? wanted - now : wanted - now + .seconds(1)
    }

    /// Waits until then, by the clock of the kernel's timers.
    func wait() async throws {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        try await Task.sleep(for: distance(from: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)))
    }
}
