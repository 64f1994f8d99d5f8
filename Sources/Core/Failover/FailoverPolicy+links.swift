import AgentModel

// The two links: the one in use, and its successor beside it (make before break).
//
// With a spare station the new link is made beside the one in use, which is left once the new one is up and validated.
extension FailoverPolicy {
    /// The role of a link.
    enum Role { case inUse, successor }

    /// Passes an input to a link, and carries out the outcomes.
    mutating func happen(_ input: LinkMachine.Input, to role: Role) {
        switch role {
        case .inUse:
            let context = context(of: link, isBeside: false)
            carryOut(link.handle(input, context, for: &command), of: .inUse)
        case .successor:
            guard var successorLink else { return }
            let context = context(of: successorLink, isBeside: true)
            let outcomes = successorLink.handle(input, context, for: &command)
            self.successorLink = successorLink
            carryOut(outcomes, of: .successor)
        }
    }

    /// Passes an input to the link with this epoch, if it still exists.
    mutating func happen(_ input: LinkMachine.Input, toLink epoch: UInt64) {
        if successor?.epoch == epoch {
            happen(input, to: .successor)
        } else if phase.epoch == epoch {
            happen(input, to: .inUse)
        }
    }

    func context(of link: LinkMachine, isBeside: Bool) -> LinkMachine.Context {
        let history = link.phase.network.flatMap { histories[$0] } ?? NetworkHistory()
        return LinkMachine.Context(
            settings: settings, now: now, isBeside: isBeside,
            isSuspect: history.reputation(at: now) != .sound,
            wasUselessLately: history.wasUselessLately(at: now, settings: settings))
    }

    private mutating func carryOut(_ outcomes: [LinkMachine.Outcome], of role: Role) {
        for outcome in outcomes {
            switch outcome {
            case .order(let action): actions.append(action)
            case .progress(let progress):
                if let command { actions.append(.switchProgress(id: command.id, progress)) }
            case .opened(let network, let accessPoint): opened(network, accessPoint)
            case .moved(let network, let before, let after):
                moved(in: network, from: before, to: after, role)
            case .failed(let attempt, let failure): attemptFailed(attempt, failure, role)
            case .useful(let network, let accessPoint):
                histories[network]?.wasUseful(over: accessPoint.bssid, at: now)
            case .up(let attempt, let accessPoint): goOnline(attempt, accessPoint, role)
            case .takesOver(let attempt, let accessPoint): takeOver(attempt, accessPoint)
            case .lost where role == .successor, .addressGone where role == .successor:
                standbyEnded()
            case .found(let link, let finding) where role == .successor:
                foundOfStandby(finding, on: link)
            case .judgeAnew where role == .successor: break
            case .lost(let link, let end): lose(link, .linkLost, end)
            case .addressGone(let link): addressGone(link)
            case .found(let link, let finding): found(finding, on: link)
            case .judgeAnew(let link):
                if link.uselessness != nil { scans[.escape].due = now }
                watchSignal(of: link.accessPoint)
            }
        }
    }

    /// Whether a join leaves the link in use as it is. Another access point of the same network is joined by the
    /// station in use, to keep its address.
    func isJoinedBeside(_ network: NetworkID) -> Bool { isSpareReady && current.map { $0 != network } ?? false }

    mutating func spareChanged(isReady: Bool) {
        isSpareReady = isReady
        if isReady { return scanForStandby(at: now + Self.standbyDelay) }
        if isStandingBy { return standbyEnded() }
        happen(.failed(.supplicantUnavailable), to: .successor)
    }

    /// Makes the successor the link in use, by choice.
    mutating func takeOver(_ attempt: Attempt, _ accessPoint: AccessPoint) {
        guard case .online(let before) = phase, let successorLink else { return }
        link = successorLink
        self.successorLink = nil
        left(before, isEnd: isBreaking)
        switch attempt.cause {
        case .weak, .fading, .critical, .congested: limits.departs(isRoam: false, at: now, settings: settings)
        default: break
        }
        if visit?.network != attempt.network { visit = nil }
        actions += [.watchSignal(nil), .useSuccessor(epoch: attempt.epoch)]
    }

    /// Makes the successor the link in use after a loss.
    mutating func fallToSuccessor(because cause: PolicyDecision.Cause) {
        guard let successorLink, let epoch = successorLink.phase.epoch else { return }
        self.successorLink = nil
        if visit?.network != successorLink.phase.network { visit = nil }
        watchAnew()
        search = Search(cause: cause)
        searchAnew()
        link = successorLink
        actions.append(.useSuccessor(epoch: epoch))
        fallToStandby(because: cause)
        // With no other link left, an automatic join is used as soon as it has an address.
        if case .validating(let attempt, let accessPoint) = phase, attempt.purpose == .automatic {
            goOnline(attempt, accessPoint, .inUse)
        }
    }

    /// Gives up the link on the spare station.
    mutating func giveUpSuccessor() {
        guard let epoch = successor?.epoch else { return }
        successorLink = nil
        actions.append(.leaveSuccessor(epoch: epoch))
    }
}

// Internet access of the links.
extension FailoverPolicy {
    /// Takes in the result of a probe of the link in use.
    mutating func found(_ finding: LinkMachine.Finding, on link: Link) {
        var history = histories[link.network, default: NetworkHistory()]
        switch finding {
        case .open: planLookAround(link)
        case .useful:
            history.wasUseful(over: link.accessPoint.bssid, at: now)
            noInternetMoves.ended()
        case .usefulAgain:
            history.wasUseful(over: link.accessPoint.bssid, at: now)
            noInternetMoves.ended()
            (scans[.escape].isReported, scans[.escape].count) = (false, 0)
            record(.usable, to: link.network, toBSSID: link.accessPoint.bssid, link.cause)
        case .useless(let failure):
            history.wasUseless(failure, over: link.accessPoint.bssid, at: now, settings: settings)
            noInternetMoves.began(at: now)
            for other in networks where other.id != link.network {
                histories[other.id]?.needed(since: noInternetMoves.since ?? now, at: now)
            }
            record(.unusable, from: link.network, fromBSSID: link.accessPoint.bssid, .failure(failure))
            scans[.escape].due = now
        }
        histories[link.network] = history
        proceed()
    }

    /// Time of the first failure since a probe got through; nil if the last one did.
    public var noInternetSince: Instant? { noInternetMoves.since }

    /// Whether the link in use has no internet access, and nothing can be tried but to join its network again.
    public func isStranded(at now: Instant) -> Bool {
        guard case .online(let link) = phase, link.uselessness == .noInternet, isReady, !isHeld, command == nil,
            otherUplink == nil, !isMoving, visit == nil, network(link.network) != nil
        else { return false }
        return !accessPoints(at: now).contains { other in
            let mayHelp =
                other.network.id == link.network
                ? noInternetMoves.allowsSibling : other.network.ssid != ssid(link.network)
            return mayHelp && other.bss.bssid != link.accessPoint.bssid && other.rank.quality <= .usable
                && other.rank.reputation <= .suspect && isOpen(other, at: now)
        }
    }
}
