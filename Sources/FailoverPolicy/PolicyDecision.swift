import AgentModel

/// One thing that the policy decided, with what it knew at the time.
public struct PolicyDecision: Hashable, Sendable {
    public let at: Instant
    public let kind: Kind
    public let from: SSID?
    public let to: SSID?
    public let cause: Cause
    /// Signal of the link that was left or kept, in dBm, where there was one.
    public let signal: Int?
    /// Every known network, best first, and what was held for or against it.
    public let considered: [Consideration]

    public enum Kind: String, Sendable {
        /// The device sets out to join a network.
        case join
        /// The network has address and route: the device is online.
        case online
        /// The link is gone.
        case lost
        /// A join did not work.
        case failed
        /// A network is left alone for a while.
        case blocked
        /// Nothing in range can be joined now; the search goes on.
        case search
        /// The link is bad, and nothing better is in range.
        case stay
    }

    public enum Cause: Hashable, Sendable {
        case start
        case linkFound
        case linkLost
        case weak
        case critical
        case commanded
        case rollback
        case retry
        case lastResort
        case failure(JoinFailure)
        case noCandidate
        case interfaceDown
        case supplicantUnavailable
    }

    public struct Consideration: Hashable, Sendable {
        public let ssid: SSID
        public let bss: BSS?
        public let verdict: Verdict
    }

    public enum Verdict: Hashable, Sendable {
        case chosen
        case current
        /// Good enough, but another one ranks higher.
        case outranked
        case notSeen
        case belowFloor
        /// Not enough better than the current link: by this many dB.
        case withinMargin(Int)
        case blocked(JoinFailure, until: Instant)
    }
}
