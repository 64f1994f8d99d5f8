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
        case .settings: 0
        case .otherUplink: 1
        case .networks: 2
        case .remembered: 3
        case .resumed: 4
        case .signal: 5
        case .scanned: 6
        case .scanFailed: 7
        case .interface: 8
        case .supplicant: 9
        case .interrupted: 10
        case .linkFound: 11
        case .linkLost: 12
        case .joinFailed: 13
        case .associated: 14
        case .address: 15
        case .doubted: 16
        case .signingIn: 17
        case .postponed: 18
        case .probed: 19
        case .confirmed: 20
        case .switchTo: 21
        case .tick: 22
        case .stop: 23
        }
    }

    /// Between two events of a kind anything will do that is the same every time.
    fileprivate var tieBreak: String { String(reflecting: self) }
}
