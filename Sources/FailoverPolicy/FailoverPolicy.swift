import AgentModel

/// Decides which network the device is on.
///
/// A pure state machine: an event and the time go in, actions come out, and nothing else has an influence. It never waits,
/// asks, or reads a clock. Whoever runs it carries the actions out, reports back with events, and sends `.tick` when
/// `nextWake` has come. `Docs/failover.md` tells in words what it does.
public struct FailoverPolicy: Sendable {
    public let settings: PolicySettings
    public internal(set) var networks: [KnownNetwork] = []
    public internal(set) var phase = Phase.offline
    /// The network in use, if it is not one of `networks` any more.
    private var retired: KnownNetwork?

    var isInterfaceUp = false
    var isSupplicantAvailable = false
    var air = Air()
    var blocks: [NetworkID: Block] = [:]
    /// A network that was just lost or not found has to be seen again before it is joined again.
    var goneSince: [NetworkID: Instant] = [:]
    /// When each network was last set out for.
    var triedAt: [NetworkID: Instant] = [:]
    /// The policy's own scan that is under way, and when to give it up.
    var scan: (order: ScanOrder, deadline: Instant)?
    var search = Search()
    var weakness = Weakness()
    var survey = Survey()
    var command: Command?
    /// When living links were left by the policy's own decision, as far back as the limit looks.
    var departures: [Instant] = []
    /// The network that was chosen by command, and until when that stands against the policy's own choice.
    var held: (network: NetworkID, until: Instant)?
    var interfaceUpAt: Instant?

    var epoch: UInt64 = 0
    private var scans: UInt64 = 0
    var actions: [PolicyAction] = []

    public init(settings: PolicySettings = PolicySettings()) { self.settings = settings }

    /// Where the device is with its network.
    public enum Phase: Sendable, Hashable {
        case offline
        case joining(Attempt)
        case waitingForAddress(Attempt, AccessPoint)
        case online(Link)

        /// The network that is being joined or is in use.
        public var network: NetworkID? {
            switch self {
            case .offline: nil
            case .joining(let attempt), .waitingForAddress(let attempt, _): attempt.network
            case .online(let link): link.network
            }
        }

        public var accessPoint: AccessPoint? {
            switch self {
            case .offline, .joining: nil
            case .waitingForAddress(_, let accessPoint): accessPoint
            case .online(let link): link.accessPoint
            }
        }
    }

    /// One try to join one network.
    public struct Attempt: Sendable, Hashable {
        public let network: NetworkID
        public let epoch: UInt64
        var purpose: Purpose
        /// Why it is made.
        let cause: PolicyDecision.Cause
        var deadline: Instant
    }

    enum Purpose: Sendable, Hashable {
        case automatic
        case commanded
        /// Back to where a commanded switch started, which failed with this.
        case rollback(JoinFailure)
    }

    public struct Link: Sendable, Hashable {
        public let network: NetworkID
        public let accessPoint: AccessPoint
        public let since: Instant
        /// When the address went away, if it has.
        var addressDeadline: Instant?
    }

    /// Takes in one event.
    /// - Returns: what is to be done now, in this order.
    public mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction] {
        defer { actions.removeAll() }
        expire(at: now)
        apply(event, at: now)
        return actions
    }

    /// When the policy wants to be told the time, at the latest.
    public var nextWake: Instant? {
        var moments = [scan?.deadline, interfaceUpAt, patienceEnd]
        switch phase {
        case .offline: moments += searchMoments
        case .joining(let attempt), .waitingForAddress(let attempt, _): moments.append(attempt.deadline)
        case .online(let link):
            moments += [link.addressDeadline] + (scan == nil && command == nil ? [weakness.nextScan, nextSurvey] : [])
        }
        return moments.compactMap(\.self).min()
    }

    private mutating func apply(_ event: PolicyEvent, at now: Instant) {
        switch event {
        case .networks(let networks): replaceNetworks(networks, at: now)
        case .interface(let isUp): interfaceChanged(isUp: isUp, at: now)
        case .supplicant(let isAvailable): supplicantChanged(isAvailable: isAvailable, at: now)
        case .linkFound(let network, let accessPoint): adopt(network, accessPoint, at: now)
        case .scanned(let id, let results): scanned(id: id, results, at: now)
        case .scanFailed(let id): scanEnded(id: id, isComplete: false, at: now)
        case .associated(let epoch, let accessPoint): associated(epoch: epoch, accessPoint, at: now)
        case .joinFailed(let epoch, let failure):
            if let attempt, attempt.epoch == epoch { attemptFailed(attempt, failure, at: now) }
        case .linkLost(let isOwnDoing): linkLost(isOwnDoing: isOwnDoing, at: now)
        case .address(let isReady): addressChanged(isReady: isReady, at: now)
        case .signal(let signal): measured(signal, at: now)
        case .switchTo(let network, let id, _): begin(network, id: id, at: now)
        case .tick: proceed(at: now)
        case .remembered, .otherUplink, .interrupted, .probed, .confirmed, .resumed, .stop: break
        }
    }

    /// Ends what has taken too long.
    private mutating func expire(at now: Instant) {
        if let scan, scan.deadline <= now { scanEnded(id: scan.order.id, isComplete: false, at: now) }
        if let patienceEnd, patienceEnd <= now { losePatience() }
        if let interfaceUpAt, interfaceUpAt <= now {
            self.interfaceUpAt = now + settings.interfaceGrace
            actions.append(.bringInterfaceUp)
        }
        switch phase {
        case .joining(let attempt) where attempt.deadline <= now: attemptFailed(attempt, .timeout, at: now)
        case .waitingForAddress(let attempt, _) where attempt.deadline <= now:
            attemptFailed(attempt, .noAddress, at: now)
        case .online(let link): if let deadline = link.addressDeadline, deadline <= now { addressGone(link, at: now) }
        case .offline, .joining, .waitingForAddress: break
        }
    }

    /// Takes the next step that the present state calls for.
    mutating func proceed(at now: Instant) {
        if command != nil {
            lookForCommanded(at: now)
        } else {
            switch phase {
            case .offline: seek(at: now)
            case .online(let link): reconsider(link, at: now)
            case .joining, .waitingForAddress: break
            }
        }
    }

    var isReady: Bool { isInterfaceUp && isSupplicantAvailable }

    var attempt: Attempt? {
        switch phase {
        case .joining(let attempt), .waitingForAddress(let attempt, _): attempt
        case .offline, .online: nil
        }
    }

    func network(_ id: NetworkID) -> KnownNetwork? { networks.first { $0.id == id } }

    func ssid(_ id: NetworkID?) -> SSID? {
        guard let id else { return nil }
        return network(id)?.ssid ?? (retired?.id == id ? retired?.ssid : nil)
    }

    /// Orders a scan, unless one is under way: its results serve as well.
    mutating func orderScan(_ frequencies: [Frequency], reason: ScanOrder.Reason, at now: Instant) {
        guard scan == nil, isInterfaceUp else { return }
        scans += 1
        let order = ScanOrder(id: scans, frequencies: frequencies, ssids: hiddenNames, reason: reason)
        scan = (order, now + settings.scanLimit)
        actions.append(.scan(order))
    }

    /// The names to call hidden networks by, from scan to scan beginning with another one: a radio can call only so many.
    private var hiddenNames: [SSID] {
        let names = networks.filter(\.isHidden).map(\.ssid)
        guard !names.isEmpty else { return [] }
        let start = Int(scans % UInt64(names.count))
        return Array(names[start...] + names[..<start])
    }

    private mutating func scanned(id: UInt64?, _ results: [BSS], at now: Instant) {
        air.note(results, of: networks)
        for network in networks {
            guard let block = blocks[network.id], block.isActive(at: now),
                let bss = air.best(of: network.id, since: now - settings.freshness),
                block.isOutdated(by: bss, settings: settings)
            else { continue }
            blocks[network.id] = nil
        }
        if let id { scanEnded(id: id, isComplete: true, at: now) } else { proceed(at: now) }
    }

    private mutating func scanEnded(id: UInt64, isComplete: Bool, at now: Instant) {
        guard let scan, scan.order.id == id else { return }
        self.scan = nil
        if scan.order.reason == .commanded {
            command?.looked(everywhere: scan.order.frequencies.isEmpty, isComplete: isComplete)
        }
        proceed(at: now)
    }

    private mutating func replaceNetworks(_ networks: [KnownNetwork], at now: Instant) {
        guard networks != self.networks else { return }
        // A network in use stays in use until it is lost, also when it is no longer one to join.
        if let inUse = phase.network.flatMap(network), !networks.contains(where: { $0.id == inUse.id }) {
            retired = inUse
        }
        self.networks = networks
        let ids = Set(networks.map(\.id))
        air.keep(networks)
        blocks = blocks.filter { ids.contains($0.key) }
        goneSince = goneSince.filter { ids.contains($0.key) }
        triedAt = triedAt.filter { ids.contains($0.key) }
        search.startOver(at: now, settings: settings)
        survey = Survey(next: now + settings.surveyDelay)
        proceed(at: now)
    }
}
