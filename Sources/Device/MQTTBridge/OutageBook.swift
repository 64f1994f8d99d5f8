import AgentModel
import AppProtocol

/// The times in which the device was not connected as it should be.
struct OutageBook: Sendable {
    /// A move from one network to another takes less.
    static let shortest = Duration.seconds(10)
    private static let day: Int64 = 86_400_000

    private var began: (at: Instant, time: Timestamp?, reason: String?)?
    private var today: Int64?
    private(set) var count = 0
    private(set) var total = Duration.zero
    private(set) var last: OutageMessage?

    var isOut: Bool { began != nil }

    /// How long the present one has lasted.
    func length(at now: Instant) -> Duration? { began.map { now - $0.at } }

    /// - Parameters:
    ///   - time: the time of day, where it is known.
    ///   - reason: why the device is out, where it is.
    /// - Returns: the outage that has ended now, unless it was too short to be one.
    mutating func note(isOut: Bool, reason: String?, at now: Instant, _ time: Timestamp?) -> OutageMessage? {
        turn(to: time)
        guard let began else {
            if isOut { began = (now, time, reason) }
            return nil
        }
        guard !isOut else {
            if began.reason == nil { self.began?.reason = reason }
            return nil
        }
        self.began = nil
        let length = now - began.at
        guard length >= Self.shortest else { return nil }
        count += 1
        total += length
        // Where the clock was set in between, it was wrong when the outage began.
        let start = time.map { Timestamp(millisecondsSince1970: $0.millisecondsSince1970 - length.milliseconds) }
        let outage = OutageMessage(
            began: start, ended: time, seconds: Int(length.milliseconds / 1000), reason: began.reason ?? "linkLost")
        last = outage
        return outage
    }

    /// Begins to count anew with each day (UTC).
    mutating func turn(to time: Timestamp?) {
        guard let time else { return }
        let day = time.millisecondsSince1970 / Self.day
        if let today, today != day { (count, total) = (0, .zero) }
        today = day
    }

    /// How long it takes until the count begins anew; nil where there is nothing to begin anew.
    func untilMidnight(_ time: Timestamp?) -> Duration? {
        guard let time, count > 0 else { return nil }
        return .milliseconds(Self.day - time.millisecondsSince1970 % Self.day)
    }
}
