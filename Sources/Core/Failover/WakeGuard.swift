import AgentModel

/// Keeps what runs a policy from spinning, whatever the policy says.
///
/// A policy wants to be woken in the future only (`Docs/contributor/failover-rules.md`, promises). One that does not
/// has a fault, and is woken all the same, for the fault may pass: after a second, and after twice the time for every
/// further wish of the kind, until it asks for a time in the future or something else happens.
public struct WakeGuard: Sendable, Hashable {
    public static let firstWait = Duration.seconds(1)
    /// Well below `PolicySettings.sleepSuspicion`: a policy that is woken late takes it for sleep.
    public static let lastWait = Duration.seconds(32)

    /// Wishes that lay in the past, since the start.
    public private(set) var count = 0
    /// The same in a row, each of them after a wake-up.
    private var inARow = 0
    /// When the policy that wishes so is woken.
    private var moment: Instant?
    /// Whether the last wish was one to tell of: the first of its kind, the tenth, the hundredth and so on.
    public private(set) var isNews = false

    public init() {}

    /// Whether a wake-up has led to a second such wish.
    public var isRepeated: Bool { inARow > 1 }

    /// When to wake the policy.
    ///
    /// - Parameters:
    ///   - wish: when it wants to be woken.
    ///   - now: when it said so.
    ///   - isWoken: whether a wake-up was what it answered to, and nothing else that happened.
    public mutating func moment(for wish: Instant?, at now: Instant, isWoken: Bool) -> Instant? {
        isNews = false
        guard let wish, wish <= now else {
            inARow = 0
            moment = nil
            return wish
        }
        count = count == .max ? count : count + 1
        isNews = Self.powersOfTen.contains(count)
        // An event meanwhile does not put the wake-up off, and may have mended it.
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
