import AgentModel

extension [PolicyEvent] {
    /// What happened at once, in the order in which it is taken in: first what is known, then what became of the link, then
    /// what is wanted.
    var inCanonicalOrder: [PolicyEvent] {
        guard count > 1 else { return self }
        return sorted { left, right in
            guard left.stage == right.stage else { return left.stage < right.stage }
            return left.tieBreak < right.tieBreak
        }
    }
}

extension PolicyEvent {
    fileprivate var stage: Int {
        switch self {
        // Before what may order a scan: one that there is another uplink for is not wanted.
        case .otherUplink: 0
        case .settings: 1
        case .networks: 2
        case .remembered: 3
        case .resumed: 4
        case .signal: 5
        case .scanned: 6
        case .scanFailed: 7
        case .interface: 8
        case .supplicant: 9
        case .spare: 10
        case .interrupted: 11
        case .linkFound: 12
        case .linkLost: 13
        case .successorLost: 14
        case .joinFailed: 15
        case .associated: 16
        case .address: 17
        case .successorAddress: 18
        case .doubted: 19
        case .signingIn: 20
        case .postponed: 21
        case .probed: 22
        case .confirmed: 23
        case .switchTo: 24
        case .tick: 25
        case .stop: 26
        }
    }

    /// Between two events of a kind anything will do that is the same every time.
    fileprivate var tieBreak: String { String(reflecting: self) }
}
