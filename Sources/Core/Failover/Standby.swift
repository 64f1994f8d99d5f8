import AgentModel

// A network on standby (`keepsStandby`): joined beside the one in use, with an address, and validated. The device uses
// it as soon as it notices a loss.
extension FailoverPolicy {
    /// Time from coming online to the first search for one: the device has other things to do first.
    static let standbyDelay = Duration.seconds(5)
    /// Time until the next search, by the number of networks in a row that could not be joined or did not last.
    private static let standbyRetry = BackOff(first: .seconds(10), last: .seconds(15 * 60))
    /// A network that has stood by for longer has not failed.
    private static let lastingStandby = Duration.seconds(300)
    /// An access point that was seen longer ago is scanned for again.
    private static let standbyFreshness = Duration.seconds(5)

    /// Whether a network stands by.
    public var isStandingBy: Bool { if case .online = successor { true } else { false } }

    /// Whether the link in use is being left for the one beside it.
    var isMoving: Bool { successor != nil && !isStandingBy && successor?.attempt?.purpose != .standby }

    /// Whether a network stands by, or is being joined for that.
    func isStandby(_ network: NetworkID) -> Bool { successor?.network == network && !isMoving }

    /// When to look for a network to stand by; nil if none is wanted.
    var standbyMoment: Instant? { isStandbyWanted ? scans[.standby].due : nil }

    private var isStandbyWanted: Bool {
        settings.keepsStandby && isSpareReady && successor == nil && networks.count > 1
    }

    /// Joins the best other network that was seen just now, or scans for one.
    mutating func seekStandby(beside link: Link) {
        guard isStandbyWanted, command == nil, scans.isDue(.standby, at: now) else { return }
        if let best = bestStandby(beside: link, since: now - Self.standbyFreshness) {
            scanForStandby(at: now)
            join(best.network.id, at: best.bss, purpose: .standby, cause: .standby)
            return
        }
        let places = places(besides: link.network)
        guard scans[.standby].count == 0, !places.isEmpty else { return standbyFailed() }
        orderScan(places, for: .standby, as: .standby)
    }

    mutating func scanForStandby(at moment: Instant?) { scans[.standby] = ScanPlanner.Entry(due: moment) }

    mutating func standbyFailed() {
        scanForStandby(at: now + Self.standbyRetry.wait(after: standbyFailures))
        standbyFailures += 1
    }

    /// The best network to stand by. It has another name: networks of one name tend to end together.
    private func bestStandby(beside link: Link, since start: Instant) -> Candidate? {
        accessPoints(at: now, since: start).first { candidate in
            candidate.network.id != link.network && candidate.network.ssid != ssid(link.network)
                && candidate.rank.reputation == .sound && candidate.rank.quality <= .usable
                && isOpen(candidate, at: now)
                && !history(of: candidate.network.id).isDistrusted(candidate.bss.bssid, at: now)
        }
    }

    /// Makes a validated link beside the one in use the standby.
    mutating func standsBy(_ attempt: Attempt, _ accessPoint: AccessPoint) {
        histories[attempt.network, default: NetworkHistory()].worked(at: accessPoint.bssid)
        // It is not probed again: it carries no traffic of the device, and should cost none.
        successorLink = LinkMachine(
            .online(
                Link(
                    network: attempt.network, accessPoint: accessPoint, since: now, epoch: attempt.epoch,
                    cause: .standby)))
        scanForStandby(at: nil)
    }

    /// Gives up a standby network that is gone or has no internet access.
    mutating func standbyEnded() {
        if let link = successor?.link, now - link.since >= Self.lastingStandby { standbyFailures = 0 }
        giveUpSuccessor()
        standbyFailed()
    }

    mutating func foundOfStandby(_ finding: LinkMachine.Finding, on link: Link) {
        switch finding {
        case .open: break
        case .useful, .usefulAgain: histories[link.network]?.wasUseful(over: link.accessPoint.bssid, at: now)
        case .useless(let failure):
            histories[link.network]?.wasUseless(
                failure, over: link.accessPoint.bssid, at: now, settings: settings)
            standbyEnded()
        }
    }

    /// Leaves a living link for the network that stands by, or is being joined for that.
    mutating func leaveForStandby(_ network: NetworkID, because cause: PolicyDecision.Cause) {
        record(
            .join, from: current, to: network, fromBSSID: phase.accessPoint?.bssid,
            toBSSID: successor?.accessPoint?.bssid, cause, considered: considerations(choosing: network))
        happen(.wanted(cause), to: .successor)
    }

    /// Makes the standby the link in use after a loss, without waiting for a probe.
    mutating func fallToStandby(because cause: PolicyDecision.Cause) {
        switch phase {
        case .online(let standing):
            let attempt = Attempt(
                network: standing.network, bssid: standing.accessPoint.bssid, epoch: standing.epoch,
                purpose: .automatic, cause: cause, deadline: standing.addressDeadline ?? now + settings.addressLimit)
            link = LinkMachine(
                standing.addressDeadline == nil
                    ? .validating(attempt, standing.accessPoint) : .waitingForAddress(attempt, standing.accessPoint))
        case .joining(let attempt) where attempt.purpose == .standby,
            .waitingForAddress(let attempt, _) where attempt.purpose == .standby,
            .validating(let attempt, _) where attempt.purpose == .standby:
            var command: Command?
            _ = link.handle(.wanted(cause), context(of: link, isBeside: false), for: &command)
        default: break
        }
    }
}
