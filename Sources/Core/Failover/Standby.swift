import AgentModel

/// When a network is looked for that is to stand by.
struct Standby: Hashable, Sendable {
    private(set) var next: Instant?
    /// Whether it was scanned for since it was wanted.
    var hasScanned = false
    /// Those that could not be joined, or did not last, in a row.
    private var failures = 0
    private var lastedSince: Instant?

    /// After the device has come online, which has other things to do first.
    static let delay = Duration.seconds(5)
    private static let wait = BackOff(first: .seconds(10), last: .seconds(15 * 60))
    /// One that has stood by for longer has not failed.
    private static let lasting = Duration.seconds(300)
    /// An access point that was seen longer ago is scanned for again.
    static let freshness = Duration.seconds(5)

    mutating func lookAgain(at moment: Instant) { (next, hasScanned) = (moment, false) }

    /// There is no air time for a scan now.
    mutating func wait(until moment: Instant) { next = moment }

    mutating func failed(at now: Instant) {
        lookAgain(at: now + Self.wait.wait(after: failures))
        failures += 1
    }

    mutating func standsBy(at now: Instant) { (next, hasScanned, lastedSince) = (nil, false, now) }

    mutating func ended(at now: Instant) {
        if let lastedSince, now - lastedSince >= Self.lasting { failures = 0 }
        failed(at: now)
    }
}

// A network that stands by (`keepsStandby`): joined beside the one in use, with an address, and found good, so that a loss takes no
// more than to notice it.
extension FailoverPolicy {
    /// Whether a network stands by.
    public var isStandingBy: Bool { if case .online = successor { true } else { false } }

    /// Whether the link in use is being left for the one beside it.
    var isMoving: Bool { successor != nil && !isStandingBy && successor?.attempt?.purpose != .standby }

    /// Whether a network stands by, or is joined to.
    func isStandby(_ network: NetworkID) -> Bool { successor?.network == network && !isMoving }

    /// When one is looked for.
    var standbyMoment: Instant? { isStandbyWanted ? standby.next : nil }

    private var isStandbyWanted: Bool {
        settings.keepsStandby && isSpareReady && successor == nil && networks.count > 1
    }

    /// Joins the best other network that was seen just now, or scans for one.
    mutating func seekStandby(beside link: Link) {
        guard isStandbyWanted, command == nil, canScan, let next = standby.next, next <= now else { return }
        if let best = bestStandby(beside: link, since: now - Standby.freshness) {
            standby.lookAgain(at: now)
            join(best.network.id, at: best.bss, purpose: .standby, cause: .standby)
            return
        }
        let places = places(besides: link.network)
        guard !standby.hasScanned, !places.isEmpty else { return standby.failed(at: now) }
        if let later = orderScan(places, reason: .standby) {
            standby.wait(until: later)
        } else {
            standby.hasScanned = true
        }
    }

    /// Another network under another name: what ends the one ends the other otherwise.
    private func bestStandby(beside link: Link, since start: Instant) -> Candidate? {
        accessPoints(at: now, since: start).first { candidate in
            candidate.network.id != link.network && candidate.network.ssid != ssid(link.network)
                && candidate.rank.reputation == .sound && candidate.rank.quality <= .usable
                && isOpen(candidate, at: now)
                && !history(of: candidate.network.id).isDistrusted(candidate.bss.bssid, at: now)
        }
    }

    /// The link beside the one in use has an address, and leads where it has to.
    mutating func standsBy(_ attempt: Attempt, _ accessPoint: AccessPoint) {
        histories[attempt.network, default: NetworkHistory()].worked(at: accessPoint.bssid)
        // It is not asked again where it leads: it carries no traffic of the device, and should cost none.
        successorLink = LinkMachine(
            .online(
                Link(
                    network: attempt.network, accessPoint: accessPoint, since: now, epoch: attempt.epoch,
                    cause: .standby)))
        standby.standsBy(at: now)
    }

    /// The network that stood by is gone, or of no use.
    mutating func standbyEnded() {
        giveUpSuccessor()
        standby.ended(at: now)
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

    /// Leaves a link in use that lives for the network that stands by, or is joined to.
    mutating func leaveForStandby(_ network: NetworkID, because cause: PolicyDecision.Cause) {
        record(
            .join, from: current, to: network, fromBSSID: phase.accessPoint?.bssid,
            toBSSID: successor?.accessPoint?.bssid, cause, considered: considerations(choosing: network))
        happen(.wanted(cause), to: .successor)
    }

    /// The link in use is gone, and the one beside it is the link now: the next event does not wait for a probe.
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
