import AgentModel

// Make before break: a link that lives is left for another network when the new link is there and proven.
//
// With a spare station the new link is made beside the one in use. What happens to it is what happens to any join, and is
// done by the same functions: meanwhile `phase` is the successor's, and the link in use waits as `predecessor`.
extension FailoverPolicy {
    /// Whether a join leaves the link in use as it is. Another access point of the same network is joined by the station in
    /// use: there it keeps its address, which another station would not.
    func isJoinedBeside(_ network: NetworkID) -> Bool { isSpareReady && current.map { $0 != network } ?? false }

    /// Has something happen to the successor of the link in use, if it has one.
    mutating func onSuccessor(_ happen: (inout FailoverPolicy) -> Void) {
        guard let successor, case .online(let link) = phase else { return }
        (predecessor, phase, self.successor) = (link, successor, nil)
        happen(&self)
        // It is in use now, or has failed.
        guard let predecessor else { return }
        (self.predecessor, self.successor, phase) = (nil, phase, .online(predecessor))
    }

    /// Has something happen to the link with this epoch: the successor, or the one in use.
    mutating func onLink(_ epoch: UInt64, _ happen: (inout FailoverPolicy) -> Void) {
        if let successor, successor.epoch == epoch { onSuccessor(happen) } else { happen(&self) }
    }

    mutating func spareChanged(isReady: Bool, at now: Instant) {
        isSpareReady = isReady
        guard !isReady else { return }
        onSuccessor { policy in
            if let attempt = policy.attempt { policy.attemptFailed(attempt, .supplicantUnavailable, at: now) }
        }
    }

    /// The successor is in use from now on, by choice.
    mutating func succeed(_ link: Link, by attempt: Attempt, _ accessPoint: AccessPoint, at now: Instant) {
        predecessor = nil
        left(link, byOwnChoice: attempt.purpose == .automatic, at: now)
        switch attempt.cause {
        case .weak, .fading, .critical, .failure:
            roamDamping.departs(from: link.accessPoint.bssid, to: accessPoint.bssid, at: now, settings: settings)
        default: break
        }
        if visit?.network != attempt.network { visit = nil }
        actions += [.watchSignal(nil), .useSuccessor(epoch: attempt.epoch)]
    }

    /// The link in use is lost: what was made beside it is all there is now.
    mutating func fallToSuccessor(because cause: PolicyDecision.Cause, at now: Instant) {
        guard let successor, let epoch = successor.epoch else { return }
        self.successor = nil
        if visit?.network != successor.network { visit = nil }
        weakness = Weakness()
        search = Search(cause: cause)
        search.startOver(at: now, settings: settings)
        phase = successor
        actions.append(.useSuccessor(epoch: epoch))
        // What is joined where nothing is left is used as soon as it has an address.
        if case .proving(let attempt, let accessPoint) = phase, attempt.purpose == .automatic {
            goOnline(attempt, accessPoint, at: now)
        }
    }

    /// What was being joined beside is not wanted any more.
    mutating func giveUpSuccessor() {
        guard let epoch = successor?.epoch else { return }
        successor = nil
        actions.append(.leaveSuccessor(epoch: epoch))
    }
}
