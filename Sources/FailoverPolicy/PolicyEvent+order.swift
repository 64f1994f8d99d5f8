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
        case .networks: 0
        case .remembered: 1
        case .otherUplink: 2
        case .resumed: 3
        case .scanned: 4
        case .scanFailed: 5
        case .interface: 6
        case .supplicant: 7
        case .interrupted: 8
        case .linkFound: 9
        case .signal: 10
        case .linkLost: 11
        case .joinFailed: 12
        case .associated: 13
        case .address: 14
        case .probed: 15
        case .confirmed: 16
        case .switchTo: 17
        case .tick: 18
        case .stop: 19
        }
    }

    /// Between two events of a kind anything will do that is the same every time.
    fileprivate var tieBreak: String { String(reflecting: self) }
}
