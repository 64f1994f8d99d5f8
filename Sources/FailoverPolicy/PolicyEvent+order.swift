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
        case .otherUplink: 0
        case .networks: 1
        case .remembered: 2
        case .resumed: 3
        case .signal: 4
        case .scanned: 5
        case .scanFailed: 6
        case .interface: 7
        case .supplicant: 8
        case .interrupted: 9
        case .linkFound: 10
        case .linkLost: 11
        case .joinFailed: 12
        case .associated: 13
        case .address: 14
        case .doubted: 15
        case .signingIn: 16
        case .postponed: 17
        case .probed: 18
        case .confirmed: 19
        case .switchTo: 20
        case .tick: 21
        case .stop: 22
        }
    }

    /// Between two events of a kind anything will do that is the same every time.
    fileprivate var tieBreak: String { String(reflecting: self) }
}
