import AgentModel

/// Tracks whether a radio's firmware answers commands. If not, data can still flow, but scans and joins fail.
package struct FirmwareWatch: Sendable, Hashable {
    private var failures = 0
    private var since: Instant?
    private(set) var isMute = false

    mutating func succeeded() { self = FirmwareWatch() }

    /// Handles a failed command: driver timeout (EIO, ETIMEDOUT), firmware refusal (EBADE), or no answer.
    mutating func failed(at now: Instant) {
        failures = min(failures, .max - 1) + 1
        let since = since ?? now
        self.since = since
        if failures >= Self.strikes && now - since >= Self.time { isMute = true }
    }

    /// Minimum number of successive failures. Single failures occur while the driver starts its firmware.
    private static let strikes = 3
    /// Minimum duration of the failures.
    private static let time = Duration.seconds(1)

    /// Interval of firmware checks.
    static let interval = Duration.seconds(5)
    /// Delay of the next check after a failed command.
    static let retry = Duration.milliseconds(500)
}
