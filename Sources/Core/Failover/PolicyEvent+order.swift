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
        case .proven: 4
        case .resumed: 5
        case .signal: 6
        case .scanned: 7
        case .scanFailed: 8
        case .interface: 9
        case .supplicant: 10
        case .spare: 11
        case .interrupted: 12
        case .linkFound: 13
        case .linkLost: 14
        case .successorLost: 15
        case .joinFailed: 16
        case .associated: 17
        case .address: 18
        case .successorAddress: 19
        case .doubted: 20
        case .signingIn: 21
        case .postponed: 22
        case .probed: 23
        case .confirmed: 24
        case .switchTo: 25
        case .tick: 26
        case .stop: 27
        }
    }

    /// Between two events of a kind anything will do that is the same every time.
    fileprivate var tieBreak: String { String(reflecting: self) }
}
