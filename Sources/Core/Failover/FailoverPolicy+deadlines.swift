import AgentModel

// Timers.
extension FailoverPolicy {
    /// The policy's timers, in the order in which they are handled if several are due at once.
    ///
    /// Only `moment(of:)` decides which are live. Handling and wake-ups follow from it, so the policy never waits for a
    /// timer that would do nothing.
    private enum Deadline: String, CaseIterable {
        /// The scan under way has taken too long.
        case scan
        /// A scan that was refused may be tried again.
        case refusedScan
        /// The device was not ready for a command in time.
        case patience
        /// The interface has been down for long enough.
        case interface
        /// The successor has taken too long. It comes before `link`, because the link in use may fall back on it.
        case successor
        /// The attempt has taken too long, or the link's address did not come back.
        case link
        /// It is time for the next scan or join.
        case step
        /// The link in use is due for a probe, or has not answered one. It comes late: a link that is left is not
        /// probed.
        case validation
        /// The successor is due for a probe, or has not answered one.
        case successorValidation
    }

    /// When a timer is due; nil if it is not live.
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

    /// When a link is due for a probe, or must have answered one; nil where it is not probed.
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

    /// Limit of timers handled at once: a fault must not hang the agent.
    private static let deadlinesAtOnce = 64

    /// Handles timers until none is due, and sets `nextWake`.
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

    /// Counts an unanswered probe, and sends one that is due.
    private mutating func continueValidation(of role: Role) {
        happen(.probeDeadline, to: role)
        happen(.probeMoment, to: role)
    }
}
