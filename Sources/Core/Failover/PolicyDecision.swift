import AgentModel

/// One thing that the policy decided, with what it knew at the time.
public struct PolicyDecision: Hashable, Sendable {
    public let at: Instant
    public let kind: Kind
    public let from: SSID?
    public let to: SSID?
    /// The access point that was left or kept, and the one that was chosen.
    public let fromBSSID: BSSID?
    public let toBSSID: BSSID?
    public let cause: Cause
    /// Signal of the link that was left or kept, in dBm, where there was one.
    public let signal: Int?
    /// Every known network, best first, and what was held for or against it.
    public let considered: [Consideration]

    public init(
        at: Instant, kind: Kind, from: SSID?, to: SSID?, fromBSSID: BSSID?, toBSSID: BSSID?, cause: Cause,
        signal: Int?, considered: [Consideration]
    ) {
        self.at = at
        self.kind = kind
        self.from = from
        self.to = to
        self.fromBSSID = fromBSSID
        self.toBSSID = toBSSID
        self.cause = cause
        self.signal = signal
        self.considered = considered
    }

    public enum Kind: String, Sendable, CaseIterable {
        /// The device sets out to join a network, or another access point of the one it is in.
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
        /// Link and address are there, but the network leads nowhere.
        case unusable
        /// A network leads to what the device needs, which it did not before.
        case usable
    }

    public enum Cause: Hashable, Sendable {
        case start
        case linkFound
        case linkLost
        case weak
        /// The link is getting weaker so fast that it will soon be critical.
        case fading
        case critical
        /// The network that the device belongs in is back.
        case preferred
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

        public init(ssid: SSID, bss: BSS?, verdict: Verdict) {
            self.ssid = ssid
            self.bss = bss
            self.verdict = verdict
        }
    }

    public enum Verdict: Hashable, Sendable {
        case chosen
        case current
        /// Good enough, but another one ranks higher.
        case outranked
        case notSeen
        /// Only access points that are not joined bear its name in range.
        case refused(JoinFailure)
        /// Its signal is below the floor.
        case belowFloor
        /// Not enough better than the current link: by this many dB.
        case withinMargin(Int)
        case blocked(JoinFailure, until: Instant)
        /// It was found to lead nowhere, and is not tried again before.
        case unusable(JoinFailure, until: Instant)
    }
}
