import AgentModel

/// Tracks whether a radio's firmware answers commands. Data can still flow without it, but no scan or join works.
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

    /// Minimum number and duration of successive failures. Single ones occur while the driver starts its firmware.
    private static let strikes = 3
    private static let time = Duration.seconds(1)

    /// Interval of checks, and delay after a failed command.
    static let interval = Duration.seconds(5)
    static let retry = Duration.milliseconds(500)
}
