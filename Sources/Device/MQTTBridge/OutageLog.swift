import AgentModel
import AppProtocol

/// Counts outages: times without the required connectivity.
struct OutageLog: Sendable {
    /// Minimum length of an outage. A switch between networks takes less.
    static let shortest = Duration.seconds(10)
    private static let day: Int64 = 86_400_000

    private var began: (at: Instant, time: Timestamp?, reason: String?)?
    private var today: Int64?
    private(set) var count = 0
    private(set) var total = Duration.zero
    private(set) var last: OutageMessage?

    func length(at now: Instant) -> Duration? { began.map { now - $0.at } }

    /// - Returns: the outage that ends now, unless it was too short.
    mutating func record(isOut: Bool, reason: String?, at now: Instant, _ time: Timestamp?) -> OutageMessage? {
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
        // Compute the start from the length: the clock may have been wrong when the outage began.
        let start = time.map { Timestamp(millisecondsSince1970: $0.millisecondsSince1970 - length.milliseconds) }
        let outage = OutageMessage(
            began: start, ended: time, seconds: Int(length.milliseconds / 1000), reason: began.reason ?? "linkLost")
        last = outage
        return outage
    }

    /// Restarts the counters on a new day (UTC).
    mutating func turn(to time: Timestamp?) {
        guard let time else { return }
        let day = time.millisecondsSince1970 / Self.day
        if let today, today != day { (count, total) = (0, .zero) }
        today = day
    }

    /// Time until the counters restart; nil if they are 0 or the time is unknown.
    func untilMidnight(_ time: Timestamp?) -> Duration? {
        guard let time, count > 0 else { return nil }
        return .milliseconds(Self.day - time.millisecondsSince1970 % Self.day)
    }
}
