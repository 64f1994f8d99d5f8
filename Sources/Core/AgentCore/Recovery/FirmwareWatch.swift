import AgentModel

/// Whether a radio's firmware answers what it is asked. It may be dead although data flow: a driver goes on sending and
/// receiving while every command of its own fails, and then nothing can be scanned, measured or joined any more.
package struct FirmwareWatch: Sendable, Hashable {
    private var failures = 0
    private var since: Instant?
    /// It does not answer.
    private(set) var isMute = false

    /// A question was answered.
    mutating func answered() { self = FirmwareWatch() }

    /// A question was not: the driver gave up waiting (EIO, ETIMEDOUT), the firmware refused (EBADE), or the kernel did not
    /// answer at all.
    mutating func failed(at now: Instant) {
        failures = min(failures, .max - 1) + 1
        let since = since ?? now
        self.since = since
        if failures >= Self.strikes && now - since >= Self.time { isMute = true }
    }

    /// So many in a row, over so long at least: one may come while the driver brings its firmware up.
    private static let strikes = 3
    private static let time = Duration.seconds(1)

    /// How often it is asked where nothing else asks it, and after a question that was not answered.
    static let interval = Duration.seconds(5)
    static let retry = Duration.milliseconds(500)
}
