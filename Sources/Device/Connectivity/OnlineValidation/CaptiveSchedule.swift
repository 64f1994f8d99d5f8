import AgentModel

/// When to ask a network's captive portal API again: before what it granted runs out, and not more often than it likes.
public struct CaptiveSchedule: Sendable, Equatable {
    /// While somebody has to sign in: the sign-in itself is noticed by the source of validation.
    public static let captiveInterval: Duration = .seconds(60)
    /// While bytes are counted, for nobody knows how fast they go.
    public static let countedInterval: Duration = .seconds(300)
    /// However long a session lasts: it may be shortened.
    public static let longestInterval: Duration = .seconds(3600)
    /// Nor is a server asked more often that says again and again that hardly anything is left.
    public static let shortestInterval: Duration = .seconds(10)
    /// How long before the end a session is extended.
    public static let extensionLead: Duration = .seconds(120)

    /// When to ask again.
    public let next: Instant
    /// When the session ends, if it does.
    public let end: Instant?
    /// From when on whoever signed in should extend the session; nil if that cannot be done.
    public let extendFrom: Instant?

    /// - Parameter asked: when the answer came.
    public init(after state: CaptiveState, asked: Instant) {
        guard !state.isCaptive else {
            (next, end, extendFrom) = (asked + Self.captiveInterval, nil, nil)
            return
        }
        // More than a century is no end, and would not fit.
        let seconds = state.secondsRemaining.flatMap { $0 < 1 << 32 ? $0 : nil }
        end = seconds.map { asked + .seconds($0) }
        let canExtend = state.canExtendSession == true && state.userPortal != nil
        let lead = canExtend ? Self.extensionLead : .zero
        extendFrom = canExtend ? end.map { max(asked, $0 - lead) } : nil
        let usual = state.bytesRemaining == nil ? Self.longestInterval : Self.countedInterval
        let wanted = end.map { $0 - lead > asked ? $0 - lead : $0 }
        next = min(asked + usual, max(asked + Self.shortestInterval, wanted ?? asked + usual))
    }
}
