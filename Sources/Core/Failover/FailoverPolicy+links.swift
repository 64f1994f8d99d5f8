import AgentModel

// The two links: the one in use, and the one that is made beside it to succeed it (make before break).
//
// With a spare station the new link is made beside the one in use, which is left when the new one is there and
// validated.
extension FailoverPolicy {
    /// The role of a link.
    enum Role { case inUse, successor }

    /// Something happens to a link: what follows from it is done.
    mutating func happen(_ input: LinkMachine.Input, to role: Role, at now: Instant, _ actions: inout [PolicyAction]) {
        switch role {
        case .inUse:
            let context = context(of: link, isBeside: false, at: now)
            carryOut(link.handle(input, context, for: &command), of: .inUse, at: now, &actions)
        case .successor:
            guard var successorLink else { return }
            let context = context(of: successorLink, isBeside: true, at: now)
            let outcomes = successorLink.handle(input, context, for: &command)
            self.successorLink = successorLink
            carryOut(outcomes, of: .successor, at: now, &actions)
        }
    }

    /// The same for the link with this epoch. An event of another link comes too late.
    mutating func happen(
        _ input: LinkMachine.Input, toLink epoch: UInt64, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        if successor?.epoch == epoch {
            happen(input, to: .successor, at: now, &actions)
        } else if phase.epoch == epoch {
            happen(input, to: .inUse, at: now, &actions)
        }
    }

    func context(of link: LinkMachine, isBeside: Bool, at now: Instant) -> LinkMachine.Context {
        let history = link.phase.network.flatMap { histories[$0] }
        return LinkMachine.Context(
            settings: settings, now: now, isBeside: isBeside,
            isSuspect: history.map { $0.reputation(at: now) != .sound } ?? false,
            wasUselessLately: history?.wasUselessLately(at: now, settings: settings) ?? false)
    }

    private mutating func carryOut(
        _ outcomes: [LinkMachine.Outcome], of role: Role, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        for outcome in outcomes {
            switch outcome {
            case .order(let action): actions.append(action)
            case .progress(let progress):
                if let command { actions.append(.switchProgress(id: command.id, progress)) }
            case .opened(let network, let accessPoint): opened(network, accessPoint)
            case .moved(let network, let before, let after):
                moved(in: network, from: before, to: after, role, &actions)
            case .failed(let attempt, let failure): attemptFailed(attempt, failure, role, at: now, &actions)
            case .useful(let network, let accessPoint):
                histories[network]?.wasUseful(over: accessPoint.bssid, at: now)
            case .up(let attempt, let accessPoint): goOnline(attempt, accessPoint, role, at: now, &actions)
            case .takesOver(let attempt, let accessPoint): takeOver(attempt, accessPoint, at: now, &actions)
            case .lost where role == .successor, .addressGone where role == .successor:
                standbyEnded(at: now, &actions)
            case .found(let link, let finding) where role == .successor:
                foundOfStandby(finding, on: link, at: now, &actions)
            case .judgeAnew where role == .successor: break
            case .lost(let link, let end): lose(link, .linkLost, end, at: now, &actions)
            case .addressGone(let link): addressGone(link, at: now, &actions)
            case .found(let link, let finding): found(finding, on: link, at: now, &actions)
            case .judgeAnew(let link):
                if link.uselessness != nil { escape.next = now }
                watchSignal(of: link.accessPoint, &actions)
            }
        }
    }

    /// Whether a join leaves the link in use as it is. Another access point of the same network is joined by the
    /// station in use: there it keeps its address, which another station would not.
    func isJoinedBeside(_ network: NetworkID) -> Bool { isSpareReady && current.map { $0 != network } ?? false }

    mutating func spareChanged(isReady: Bool, at now: Instant, _ actions: inout [PolicyAction]) {
        isSpareReady = isReady
        if isReady { return standby.lookAgain(at: now + Standby.delay) }
        if isStandingBy { return standbyEnded(at: now, &actions) }
        happen(.failed(.supplicantUnavailable), to: .successor, at: now, &actions)
    }

    /// The successor is in use from now on, by choice.
    mutating func takeOver(
        _ attempt: Attempt, _ accessPoint: AccessPoint, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        guard case .online(let before) = phase, let successorLink else { return }
        link = successorLink
        self.successorLink = nil
        left(before, byOwnChoice: attempt.purpose == .automatic, isEnd: isBreaking, at: now)
        switch attempt.cause {
        case .weak, .fading, .critical, .jammed: limits.departs(isRoam: false, at: now, settings: settings)
        default: break
        }
        if visit?.network != attempt.network { visit = nil }
        actions += [.watchSignal(nil), .useSuccessor(epoch: attempt.epoch)]
    }

    /// The link in use is lost: what was made beside it is all there is now.
    mutating func fallToSuccessor(because cause: PolicyDecision.Cause, at now: Instant, _ actions: inout [PolicyAction])
    {
        guard let successorLink, let epoch = successorLink.phase.epoch else { return }
        self.successorLink = nil
        if visit?.network != successorLink.phase.network { visit = nil }
        watchAnew()
        search = Search(cause: cause)
        search.startOver(at: now, settings: settings)
        link = successorLink
        actions.append(.useSuccessor(epoch: epoch))
        fallToStandby(because: cause, at: now)
        // With no other link left, an automatic join is used as soon as it has an address.
        if case .validating(let attempt, let accessPoint) = phase, attempt.purpose == .automatic {
            goOnline(attempt, accessPoint, .inUse, at: now, &actions)
        }
    }

    /// The join on the spare station is not wanted any more.
    mutating func giveUpSuccessor(_ actions: inout [PolicyAction]) {
        guard let epoch = successor?.epoch else { return }
        successorLink = nil
        actions.append(.leaveSuccessor(epoch: epoch))
    }
}

// Whether a link leads to what the device needs.
extension FailoverPolicy {
    /// A probe of the link in use has ended.
    mutating func found(_ finding: LinkMachine.Finding, on link: Link, at now: Instant, _ actions: inout [PolicyAction])
    {
        var history = histories[link.network, default: NetworkHistory()]
        switch finding {
        case .open: break
        case .useful:
            history.wasUseful(over: link.accessPoint.bssid, at: now)
            noInternetMoves.ended()
        case .usefulAgain:
            history.wasUseful(over: link.accessPoint.bssid, at: now)
            noInternetMoves.ended()
            escape.isReported = false
            escape.count = 0
            record(.usable, to: link.network, toBSSID: link.accessPoint.bssid, link.cause, at: now, &actions)
        case .useless(let failure):
            history.wasUseless(failure, over: link.accessPoint.bssid, at: now, settings: settings)
            noInternetMoves.began(at: now)
            record(
                .unusable, from: link.network, fromBSSID: link.accessPoint.bssid, .failure(failure), at: now, &actions)
            escape.next = now
        }
        histories[link.network] = history
        proceed(at: now, &actions)
    }

    /// Time of the first failure since a probe got through; nil if the last one did.
    public var noInternetSince: Instant? { noInternetMoves.since }

    /// Whether the link in use has no internet access, and nothing else can be tried but to join its network again.
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
