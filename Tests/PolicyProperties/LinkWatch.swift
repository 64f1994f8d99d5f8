import AgentModel
import Failover

/// Links are left, joined and probed for good reasons only.
struct LinkWatch {
    private var settings: PolicySettings
    private var uplink: Uplink?
    /// The newest observation of each access point, and of those that only pretend to be it.
    private var observations: [Transmitter: BSS] = [:]
    /// Since when the link in use gave reason to leave it.
    private var doubt: Doubt?
    /// Networks blocked for a wrong key, which nothing but time or a new password makes right.
    private var blocked: [SSID: Instant] = [:]
    /// The access point that is being joined, and those that could not be joined since they worked last.
    private var joining: BSSID?
    private var joiningNetwork: NetworkID?
    private var failed: Set<BSSID> = []
    /// When each network was in use last, or came into the list: it has to be seen since.
    private var usedAt: [NetworkID: Instant] = [:]
    private var networks: [NetworkID: KnownNetwork] = [:]
    private var epoch: UInt64 = 0
    private var commandedAt: Instant?
    private var hasSpare = false

    private struct Transmitter: Hashable {
        let bssid: BSSID
        let security: Security
    }

    private struct Doubt {
        var since: Instant
        /// The last sample that was bad.
        var latest: Instant
    }

    init(settings: PolicySettings) { self.settings = settings }

    mutating func check(_ exchange: Exchange) throws(Violation) {
        let hadSpare = hasSpare
        if exchange.changesSettings { settings = exchange.policy.settings }
        for event in exchange.events { check(event, in: exchange) }
        let isNewList = exchange.events.contains { if case .networks = $0 { true } else { false } }
        defer {
            if isNewList { networks = Dictionary(uniqueKeysWithValues: exchange.policy.networks.map { ($0.id, $0) }) }
        }
        if isNewList {
            for network in exchange.policy.networks {
                if networks[network.id] == nil { usedAt[network.id] = exchange.at }
                networks[network.id] = network
            }
        }
        if let network = exchange.before.network { usedAt[network] = exchange.at }
        var decision: PolicyDecision?
        for action in exchange.actions {
            switch action {
            case .record(let next):
                check(next, in: exchange)
                decision = next
            case .join(let target), .joinBeside(let target):
                let cause = decision.flatMap { [.join, .standby].contains($0.kind) ? $0 : nil }
                // Of those that the radio has to find by itself the history has one entry for all.
                guard cause != nil || target.isUnseen else {
                    throw Violation(.isExplained, "no decision before \(target)", at: exchange.at)
                }
                if let cause { try check(target, cause, in: exchange) }
                epoch = target.epoch
                joining = target.bssid
                joiningNetwork = target.network
                if case .join = action {
                    if let cause { try checkSpare(target, cause, hadSpare: hadSpare, in: exchange) }
                    doubt = nil
                }
            case .useSuccessor(let epoch): try checkSuccession(epoch, in: exchange)
            case .switchProgress(_, .accepted): commandedAt = exchange.at
            case .probe(let epoch, _): try checkProbe(epoch, in: exchange)
            default: break
            }
        }
        if case .online = exchange.policy.phase {} else { doubt = nil }
    }

    private mutating func check(_ event: PolicyEvent, in exchange: Exchange) {
        switch event {
        case .scanned(_, let results):
            // The policy takes in no time stamp from the future.
            for bss in results where bss.lastSeen <= exchange.at + .seconds(1) {
                let transmitter = Transmitter(bssid: bss.bssid, security: bss.security)
                if let known = observations[transmitter], known.lastSeen > bss.lastSeen { continue }
                observations[transmitter] = bss
            }
        case .signal(let signal):
            guard case .online(let link) = exchange.before else { return }
            let thresholds = settings.thresholds(for: link.accessPoint.frequency)
            if signal < thresholds.weak + (doubt == nil ? 0 : settings.recovery) {
                doubt = Doubt(since: doubt?.since ?? exchange.at, latest: exchange.at)
            } else if let doubt, exchange.at - doubt.latest > .seconds(60) {
                // Until then a smoothed signal may lag behind.
                self.doubt = nil
            }
        case .networks: blocked = [:]
        // The handshake is done, so the key is right.
        case .associated(let epoch, _) where epoch == self.epoch:
            if let joiningNetwork, let ssid = networks[joiningNetwork]?.ssid { blocked[ssid] = nil }
        case .otherUplink(let uplink): self.uplink = uplink
        case .spare(let isReady): hasSpare = isReady
        default: break
        }
    }

    private mutating func check(_ decision: PolicyDecision, in exchange: Exchange) {
        switch (decision.kind, decision.cause) {
        case (.blocked, .failure(.wrongKey)):
            // A network that left the list may have a namesake in it, which has another password.
            let isListed = exchange.policy.networks.contains { $0.id == exchange.before.network }
            if isListed, let ssid = decision.from { blocked[ssid] = decision.at + settings.wrongKeyBlock.first }
        case (.failed, _):
            if let joining { failed.insert(joining) }
            joining = nil
        case (.online, _):
            if let ssid = decision.to { blocked[ssid] = nil }
            if let joining { failed.remove(joining) }
        default: break
        }
    }

    private func check(_ target: LinkTarget, _ decision: PolicyDecision, in exchange: Exchange) throws(Violation) {
        if target.epoch <= epoch {
            throw Violation(.freshNumbers, "join \(target.epoch) after \(epoch)", at: exchange.at)
        }
        try checkObservation(target, decision, in: exchange)
        try checkBlocks(target, decision, in: exchange)
        guard exchange.leavesLivingLink, target == exchange.firstJoin else { return }
        switch decision.cause {
        case .weak, .fading, .critical, .failure, .preferred:
            if uplink != nil { throw Violation(.restsOnOtherUplink, "leaves: \(decision.cause)", at: exchange.at) }
            try checkDeparture(target, decision, since: doubt?.since, in: exchange)
        case .commanded: try checkDeparture(target, decision, since: commandedAt, in: exchange)
        default: break
        }
    }

    /// The access point that is named was just seen, as the network's own.
    private func checkObservation(
        _ target: LinkTarget, _ decision: PolicyDecision, in exchange: Exchange
    ) throws(Violation) {
        guard let bssid = target.bssid else { return }
        guard let network = networks[target.network],
            let bss = observations.values.first(where: { $0.bssid == bssid && network.owns($0) })
        else {
            throw Violation(
                .joinsFreshObservations, "\(bssid) was never seen as one of network \(target.network.rawValue)'s",
                at: exchange.at)
        }
        guard exchange.at - bss.lastSeen <= settings.freshness else {
            throw Violation(
                .joinsFreshObservations, "\(bssid) was last seen at \(bss.lastSeen.inSeconds)", at: exchange.at)
        }
        if !target.frequencies.isEmpty, !target.frequencies.contains(bss.frequency) {
            throw Violation(.joinsFreshObservations, "\(bssid) is not on \(target.frequencies)", at: exchange.at)
        }
    }

    private func checkDeparture(
        _ target: LinkTarget, _ decision: PolicyDecision, since reason: Instant?, in exchange: Exchange
    ) throws(Violation) {
        let earliest =
            switch decision.cause {
            case .preferred, .failure: exchange.at - settings.freshness
            // A stronger one of the same network is a reason by itself.
            case .weak where target.network == exchange.before.network: exchange.at - settings.freshness
            default: reason
            }
        guard let earliest else {
            throw Violation(.leavesForSeenOnly, "nothing was wrong: \(decision.cause)", at: exchange.at)
        }
        let isSeen = observations.values.contains { bss in
            bss.lastSeen >= earliest && (target.bssid ?? bss.bssid) == bss.bssid
                && networks[target.network]?.owns(bss) == true
        }
        guard isSeen else {
            throw Violation(
                .leavesForSeenOnly,
                "\(decision.cause) since \(earliest.inSeconds); network \(target.network.rawValue) was not seen since",
                at: exchange.at)
        }
    }

    private func checkBlocks(
        _ target: LinkTarget, _ decision: PolicyDecision, in exchange: Exchange
    ) throws(Violation) {
        switch decision.cause {
        case .commanded, .rollback, .retry, .lastResort: return
        default: break
        }
        guard let network = networks[target.network], let until = blocked[network.ssid], exchange.at < until
        else { return }
        let sound = exchange.policy.networks.first { other in
            other.id != network.id && exchange.policy.lastFailure(of: other.id) == nil
                && observations.values.contains { isSound($0, of: other, in: exchange) }
        }
        if let sound {
            throw Violation(
                .avoidsBlocked, "joins \(network.ssid), blocked until \(until.inSeconds), while \(sound.ssid) is there",
                at: exchange.at)
        }
    }

    private func isSound(_ bss: BSS, of network: KnownNetwork, in exchange: Exchange) -> Bool {
        network.owns(bss) && !failed.contains(bss.bssid)
            && bss.signal >= settings.thresholds(for: bss.frequency).weak
            && exchange.at - bss.lastSeen <= settings.freshness
            && (usedAt[network.id].map { bss.lastSeen > $0 } ?? true)
    }

    /// With a spare station another network is joined beside the living link.
    private func checkSpare(
        _ target: LinkTarget, _ decision: PolicyDecision, hadSpare: Bool, in exchange: Exchange
    ) throws(Violation) {
        guard hadSpare, hasSpare, exchange.leavesLivingLink, target == exchange.firstJoin,
            exchange.before.network != target.network
        else { return }
        throw Violation(.makesBeforeItBreaks, "\(decision.cause): the living link is left", at: exchange.at)
    }

    /// A link that was made beside is used when it carries traffic, or when nothing else is left.
    private func checkSuccession(_ epoch: UInt64, in exchange: Exchange) throws(Violation) {
        let isWhole = exchange.actions.contains { action in
            switch action {
            // For a user to sign in a link is used that leads nowhere yet, and the time for that may be over.
            case .record(let decision):
                decision.kind == .online || decision.kind == .lost || decision.cause == .failure(.captive)
            case .switchProgress: true
            default: false
            }
        }
        let isBeingValidated = if case .validating = exchange.policy.phase { true } else { false }
        guard isWhole || isBeingValidated else {
            throw Violation(.makesBeforeItBreaks, "link \(epoch) is used and is none", at: exchange.at)
        }
    }

    private mutating func checkProbe(_ epoch: UInt64, in exchange: Exchange) throws(Violation) {
        if settings.validation == nil {
            throw Violation(.probesCurrentLink, "probes, and that is not set", at: exchange.at)
        }
        self.epoch = max(epoch, self.epoch)
        if epoch == exchange.policy.successor?.epoch { return try checkLink(exchange.policy.successor, in: exchange) }
        // The link in use is an older one than what is made beside it, also where it has become that just now.
        if epoch < self.epoch, epoch != exchange.before.epoch, epoch != exchange.policy.phase.epoch {
            throw Violation(.probesCurrentLink, "probes link \(epoch), the last is \(self.epoch)", at: exchange.at)
        }
        try checkLink(exchange.policy.phase, in: exchange)
    }

    private func checkLink(_ phase: FailoverPolicy.Phase?, in exchange: Exchange) throws(Violation) {
        switch phase {
        case .offline, .joining, nil: throw Violation(.probesCurrentLink, "probes without a link", at: exchange.at)
        default: break
        }
    }
}

extension Exchange {
    fileprivate var firstJoin: LinkTarget? {
        for action in actions {
            switch action {
            case .join(let target), .joinBeside(let target): return target
            default: break
            }
        }
        return nil
    }

    /// Whether the link that was there before the events is still there with them, and is left by the actions.
    fileprivate var leavesLivingLink: Bool {
        guard case .online = before else { return false }
        let isEnded = events.contains { event in
            switch event {
            case .linkLost, .interface(isUp: false), .address(isReady: false), .supplicant(isAvailable: false): true
            default: false
            }
        }
        return !isEnded
            && !actions.contains {
                if case .record(let decision) = $0 { decision.kind == .lost || decision.kind == .failed } else { false }
            }
    }
}
