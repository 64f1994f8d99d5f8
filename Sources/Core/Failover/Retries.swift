import AgentModel

/// When something that went wrong may be tried again where there is nothing else to try: soon, and never in a hot loop.
struct Retries: Hashable {
    private var stumbles = 0
    private var until: Instant?

    /// - Parameter outage: how long the device has been offline: what failed for an hour is not mended by the second.
    mutating func stumbled(after outage: Duration, at now: Instant, settings: PolicySettings) {
        // The first time may have been bad luck.
        let wait = stumbles == 0 ? .zero : settings.retry.wait(after: stumbles - 1)
        until = now + (stumbles < 2 ? wait : max(wait, settings.look.wait(after: outage, part: Search.patience)))
        stumbles += 1
    }

    mutating func recovered() { self = Retries() }

    /// When the wait ends; nil where there is none.
    func end(after now: Instant) -> Instant? { until.flatMap { $0 > now ? $0 : nil } }
}
