import AgentModel

// Events that come by the clock alone.
extension FailoverPolicy {
    /// The policy's timers, in the order in which they are handled if several are due at once.
    ///
    /// `moment(of:)` alone knows which of them are live: what is done, and when the policy wants to be woken, both
    /// follow from it, so that it never waits for what nothing would be done about.
    private enum Deadline: String, CaseIterable {
        /// The scan under way has taken too long.
        case scan
        /// A scan that was refused may be tried again.
        case refusedScan
        /// The device was not ready for a command in time.
        case patience
        /// The interface has been down for long enough.
        case interface
        /// The successor has taken too long. It comes first: the link in use may fall back on it.
        case successor
        /// The attempt has taken too long, or the link's address did not come back.
        case link
        /// It is time for the next scan or join.
        case step
        /// The link in use is to be probed, or has not answered. It comes late: a link that is left is not probed.
        case validation
        /// The same of the successor.
        case successorValidation
    }

    /// When it is due; nil where nothing would be done about it.
    private func moment(of deadline: Deadline) -> Instant? {
        switch deadline {
        case .scan: scan?.deadline
        case .refusedScan: refusedScans.pauseEnd
        case .patience: patienceEnd
        case .interface: interfaceUpAt
        case .successor: successor?.deadline
        case .link: phase.deadline
        case .step: stepMoment
        case .validation: probeMoment(of: phase)
        case .successorValidation: successor.flatMap { probeMoment(of: $0) }
        }
    }

    /// When a link is to be probed next, or has to have answered; nil where it is not probed.
    private func probeMoment(of phase: Phase) -> Instant? {
        settings.validation == nil ? nil : phase.validation?.moment
    }

    private var stepMoment: Instant? {
        let moments: [Instant?] =
            switch phase {
            case .offline: searchMoments
            case .joining(let attempt), .waitingForAddress(let attempt, _): [replacementMoment(attempt)]
            case .validating: []
            case .online(let link): canScan && command == nil ? scanMoments(link) : []
            }
        return moments.compactMap(\.self).min()
    }

    /// The policy's deadlines, each with the time left from `now`: for troubleshooting. Names no network.
    public func deadlines(at now: Instant) -> String {
        Deadline.allCases.compactMap { deadline in
            moment(of: deadline).map { "\(deadline.rawValue) \(($0 - now).seconds) s" }
        }.joined(separator: ", ")
    }

    /// Meeting one deadline may make another due, but not for ever: a fault in one must not hang the agent.
    private static let deadlinesAtOnce = 64

    /// Does what is due, until nothing is, and tells when something will be.
    mutating func meetDeadlines() {
        for _ in 0..<Self.deadlinesAtOnce {
            var due: Deadline?
            var next: Instant?
            for deadline in Deadline.allCases {
                guard let moment = moment(of: deadline) else { continue }
                next = min(next ?? moment, moment)
                if moment <= now {
                    due = deadline
                    break
                }
            }
            nextWake = next
            guard let due else { return }
            meet(due)
        }
    }

    private mutating func meet(_ deadline: Deadline) {
        switch deadline {
        case .scan: if let scan { scanEnded(id: scan.order.id, isComplete: false) }
        case .refusedScan:
            scans.refused.endPause()
            proceed()
        case .patience:
            losePatience()
            proceed()
        case .interface:
            interfaceUpAt = now + settings.interfaceGrace
            actions.append(.bringInterfaceUp)
        case .successor: happen(.tookTooLong, to: .successor)
        case .link: happen(.tookTooLong, to: .inUse)
        case .step: proceed()
        case .validation: continueValidation(of: .inUse)
        case .successorValidation: continueValidation(of: .successor)
        }
    }

    /// Counts what was not answered, and asks what is due to be asked.
    private mutating func continueValidation(of role: Role) {
        happen(.probeDeadline, to: role)
        happen(.probeMoment, to: role)
    }
}
