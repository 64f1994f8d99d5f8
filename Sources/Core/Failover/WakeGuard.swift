import AgentModel

/// Keeps the runner of a policy from spinning.
///
/// A policy asks for wake-ups in the future only (`Docs/contributor/failover-rules.md`, promises). One that does not
/// has a fault, and is woken all the same, because the fault may pass: after a second, and after twice the time for
/// every further such request, until it asks for a time in the future or something else happens.
public struct WakeGuard: Sendable, Hashable {
    public static let firstWait = Duration.seconds(1)
    /// Well below `PolicySettings.sleepSuspicion`: a policy that is woken late takes it for sleep.
    public static let lastWait = Duration.seconds(32)

    /// Requests for a time in the past, since the start.
    public private(set) var count = 0
    /// Requests in a row for a time in the past, each after a wake-up.
    private var inARow = 0
    /// When the policy is woken after such a request.
    private var moment: Instant?
    /// Whether the last such request should be reported: the first, the tenth, the hundredth and so on.
    public private(set) var isNews = false

    public init() {}

    /// Whether a wake-up has led to a second such request.
    public var isRepeated: Bool { inARow > 1 }

    /// When to wake the policy.
    ///
    /// - Parameters:
    ///   - wish: when the policy asks to be woken.
    ///   - now: time of the request.
    ///   - isWoken: whether the policy answered a wake-up, and no other event.
    public mutating func moment(for wish: Instant?, at now: Instant, isWoken: Bool) -> Instant? {
        isNews = false
        guard let wish, wish <= now else {
            inARow = 0
            moment = nil
            return wish
        }
        count = count == .max ? count : count + 1
        isNews = Self.powersOfTen.contains(count)
        // Other events do not postpone the wake-up, and may have repaired the policy.
        if !isWoken {
            inARow = 1
            moment = min(moment ?? now + Self.firstWait, now + Self.firstWait)
            return moment
        }
        moment = now + BackOff(first: Self.firstWait, last: Self.lastWait).wait(after: inARow)
        inARow = min(inARow + 1, 30)
        return moment
    }

    private static let powersOfTen = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]
}
