import AgentModel

/// Decides which network the device is on.
///
/// A pure state machine: an event and the time go in, actions come out, and nothing else has an influence. It never
/// waits, asks, or reads a clock. Its runner carries the actions out, reports back with events, and sends `.tick` when
/// `nextWake` has come. `Docs/contributor/failover-rules.md` describes the rules.
public struct FailoverPolicy: Sendable {
    public private(set) var settings: PolicySettings
    public internal(set) var networks: [KnownNetwork] = []
    /// The link in use, or being made.
    var link = LinkMachine()
    /// The successor beside the link in use: being made, or standing by (`Standby`). Only a link that is in use has
    /// one.
    var successorLink: LinkMachine?
    /// Latest time of the next `.tick`.
    public internal(set) var nextWake: Instant?
    /// The network in use, if it is no longer one of `networks`.
    private var retired: KnownNetwork?

    var isInterfaceUp = false
    var isSupplicantAvailable = false
    /// Whether another network can be joined beside the link in use.
    var isSpareReady = false
    /// Whether the device joins nothing without a command.
    var isHeld = false
    /// The interface that carries the device's traffic instead of Wi-Fi.
    var otherUplink: Uplink?
    var scanCache = ScanCache()
    var histories: [NetworkID: NetworkHistory] = [:]
    /// `histories` before the last loss of a link, and its time.
    var beforeLoss: (histories: [NetworkID: NetworkHistory], at: Instant)?
    var scans = ScanPlanner()
    var search = Search()
    var monitor = LinkMonitor()
    var benefit = SwitchBenefit()
    var congested = CongestedChannels()
    var noInternetMoves = NoInternetMoves()
    var preferredReturn = PreferredNetworkReturn()
    /// Standby networks in a row that could not be joined, or did not last.
    var standbyFailures = 0
    var command: Command?
    /// Notice of the access point in use that the link will end, or its request to move.
    var departureNotice: DepartureNotice?
    var steers = Steers()
    /// Channels of other access points, named by the one in use.
    var neighbours: Set<Frequency> = []
    var limits = MoveLimits()
    /// The network that was last chosen by command.
    var choice: Choice?
    /// The network that the device visits. The visit ends when the device leaves.
    var visit: Choice?
    var interfaceUpAt: Instant?

    var epoch: UInt64 = 0
    /// Time of the current event. Set on entry to `handle`.
    private(set) var now = Instant.distantPast
    /// Actions for the current event, in this order. Empty between events.
    var actions: [PolicyAction] = []
    private var resumedAt: Instant?
    private var isStopped = false

    public init(settings: PolicySettings = PolicySettings()) { self.settings = settings }

    /// Takes in one event.
    /// - Returns: the actions to carry out now, in this order.
    public mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction] {
        takeIn(CollectionOfOne(event), at: now)
    }

    /// Takes in events that happened at once. Their order does not change the decision.
    /// - Returns: the actions to carry out now, in this order.
    public mutating func handle(_ events: [PolicyEvent], at now: Instant) -> [PolicyAction] {
        takeIn(events.inCanonicalOrder, at: now)
    }

    private mutating func takeIn(_ events: some Collection<PolicyEvent>, at moment: Instant) -> [PolicyAction] {
        // Time never goes back.
        now = max(moment, now)
        guard !isStopped else { return [] }
        defer { actions = [] }
        let wasAsleep = nextWake.map { now - $0 > settings.sleepSuspicion } ?? false
        // An event counts before an overdue timer: a success that has come does not time out.
        if wasAsleep {
            for event in (events + [.resumed]).inCanonicalOrder { apply(event) }
        } else {
            for event in events { apply(event) }
        }
        nextWake = nil
        if !isStopped { meetDeadlines() }
        return actions
    }

    private mutating func apply(_ event: PolicyEvent) {
        switch event {
        case .settings(let settings): follow(settings)
        case .networks(let networks): replaceNetworks(networks)
        case .remembered(let network, let frequency):
            if self.network(network) != nil { scanCache.remember(frequency, of: network) }
        case .verified(let network, let bssid):
            if self.network(network)?.usesPassphrase ?? false {
                histories[network, default: NetworkHistory()].remember(bssid)
            }
        case .interface(let isUp): interfaceChanged(isUp: isUp)
        case .supplicant(let isAvailable): supplicantChanged(isAvailable: isAvailable)
        case .spare(let isReady): spareChanged(isReady: isReady)
        case .otherUplink(let uplink): otherUplinkChanged(uplink)
        case .held(let isHeld): holdChanged(isHeld)
        case .linkFound(let network, let accessPoint): adopt(network, accessPoint)
        case .interrupted(let id, let target, let cameFrom): undo(id, target, cameFrom: cameFrom)
        case .scanned(let id, let results): scanned(id: id, results)
        case .scanFailed(let id): scanEnded(id: id, isComplete: false)
        case .scanRefused(let id, let joinsUnseen):
            scanRefused(id: id, joinsUnseen: joinsUnseen)
        case .associated(let epoch, let accessPoint): happen(.associated(accessPoint), toLink: epoch)
        case .joinFailed(let epoch, let failure): happen(.failed(failure), toLink: epoch)
        case .linkLost(let end): happen(.lost(end), to: .inUse)
        case .successorLost(let epoch):
            if epoch == successor?.epoch { happen(.lost(.other), to: .successor) }
        case .address(let isReady): happen(.address(isReady: isReady), to: .inUse)
        case .successorAddress(let epoch, let isReady):
            if epoch == successor?.epoch { happen(.address(isReady: isReady), to: .successor) }
        case .signal(let signal): measured(signal)
        case .loss(let percent): lost(percent)
        case .disassociationImminent(let time): askedToLeave(within: time)
        case .transitionRequested: askedToMove()
        case .neighbour(let bssid, let frequency): heardOf(bssid, on: frequency)
        case .probed(let epoch, let result): happen(.probed(result), toLink: epoch)
        case .doubted(let epoch): happen(.doubted, toLink: epoch)
        case .signingIn(let epoch, let end): happen(.signingIn(until: end), toLink: epoch)
        case .postponed(let epoch, let moment): happen(.postponed(until: moment), toLink: epoch)
        case .switchTo(let network, let id, let confirmWithin, let joinOnce):
            begin(network, id: id, confirmWithin: confirmWithin, joinOnce: joinOnce)
        case .confirmed(let id): confirmed(id)
        case .resumed: if resumedAt != now { resume() }
        case .tick: proceed()
        case .stop: isStopped = true
        }
    }

    /// Takes the next step that the present state calls for.
    mutating func proceed() {
        if command != nil {
            pursueCommand()
        } else {
            switch phase {
            case .offline: seek()
            case .online(let link): reconsider(link)
            case .joining(let attempt), .waitingForAddress(let attempt, _):
                seekReplacement(of: attempt)
            case .validating: break
            }
        }
    }

    private mutating func replaceNetworks(_ networks: [KnownNetwork]) {
        guard networks != self.networks else { return }
        // A higher minimum security alone does not require a scan.
        if networks.count == self.networks.count, zip(networks, self.networks).allSatisfy({ $0.isRaised(from: $1) }) {
            self.networks = networks
            scanCache.keep(networks)
            return
        }
        if let target = successor?.network, !networks.contains(where: { $0.id == target }) { giveUpSuccessor() }
        // A network in use stays in use until it is lost, even if it may no longer be joined.
        // Do not pass `network(_:)` as a function value: Swift 6.2.3 releases the captured copy of `self` too early.
        if let inUse = phase.network.flatMap({ self.network($0) }), !networks.contains(where: { $0.id == inUse.id }) {
            retired = inUse
        }
        let before = preferred
        self.networks = networks
        let ids = Set(networks.map(\.id))
        scanCache.keep(networks)
        histories = histories.filter { ids.contains($0.key) }
        if let choice, !ids.contains(choice.network) || isSucceeded(choice.network) { self.choice = nil }
        // Earlier failures were returns to another network.
        if preferred != before { preferredReturn = PreferredNetworkReturn() }
        scanForPreferred(at: now + settings.preferredScan.first)
        searchAnew()
        scans.startOver(at: now, unseen: now + settings.scanInterval.unseenDelay)
        proceed()
    }

    /// Whether the preferred network is now the same one under another password.
    private func isSucceeded(_ network: NetworkID) -> Bool {
        networks.contains { $0.isPreferred && $0.id != network && $0.ssid == ssid(network) }
    }

    private mutating func otherUplinkChanged(_ uplink: Uplink?) {
        guard uplink != otherUplink else { return }
        otherUplink = uplink
        if uplink == nil {
            // Everything that was ignored meanwhile is judged again.
            if scans[.escape].since != nil { (scans[.escape].since, scans[.escape].due) = (now, now) }
            searchAnew()
        } else if command == nil {
            giveUpSuccessor()
        }
        proceed()
    }

    private mutating func holdChanged(_ isHeld: Bool) {
        guard isHeld != self.isHeld else { return }
        self.isHeld = isHeld
        if !isHeld { searchAnew() }
        proceed()
    }

    /// Applies other settings: judges everything again, and restarts the time limits under way.
    private mutating func follow(_ new: PolicySettings) {
        var new = new
        // Settings do not switch probes on or off.
        if settings.validation == nil || new.validation == nil { new.validation = settings.validation }
        guard new != settings, new.contradiction == nil else { return }
        settings = new
        beginAnew()
    }

    /// Starts again after sleep, or a delay as long: measurements are old, and timers were missed.
    private mutating func resume() {
        resumedAt = now
        beginAnew()
    }

    private mutating func beginAnew() {
        scans.running?.deadline = now + settings.scanLimit
        watchAnew()
        searchAnew()
        scanForPreferred(at: now)
        happen(.beginAnew, to: .inUse)
        happen(.beginAnew, to: .successor)
        proceed()
    }

    // MARK: Queries for the other parts

    /// The state of the device's link.
    public var phase: Phase { link.phase }

    /// The successor beside the link in use. If it is online, it stands by.
    public var successor: Phase? { successorLink?.phase }

    var isReady: Bool { isInterfaceUp && isSupplicantAvailable }

    var attempt: Attempt? { phase.attempt }

    /// The network in use.
    var current: NetworkID? {
        guard case .online(let link) = phase else { return nil }
        return link.network
    }

    /// Epoch of the current link, which marks its events.
    public var linkEpoch: UInt64 { phase.epoch ?? epoch }

    /// Whether the device visits its network, by a switch with `joinOnce`.
    public var isOnEphemeralNetwork: Bool { visit != nil }

    func history(of network: NetworkID) -> NetworkHistory { histories[network] ?? NetworkHistory() }

    func network(_ id: NetworkID) -> KnownNetwork? { networks.first { $0.id == id } }

    func ssid(_ id: NetworkID?) -> SSID? {
        guard let id else { return nil }
        return network(id)?.ssid ?? (retired?.id == id ? retired?.ssid : nil)
    }

    mutating func record(
        _ kind: PolicyDecision.Kind, from: NetworkID? = nil, to: NetworkID? = nil, fromBSSID: BSSID? = nil,
        toBSSID: BSSID? = nil, _ cause: PolicyDecision.Cause, signal: Int? = nil,
        considered: [PolicyDecision.Consideration] = [], costs: PolicyDecision.Costs? = nil
    ) {
        actions.append(
            .record(
                PolicyDecision(
                    at: now, kind: kind, from: ssid(from), to: ssid(to), fromBSSID: fromBSSID, toBSSID: toBSSID,
                    cause: cause, signal: signal ?? monitor.latest, considered: considered, costs: costs)))
    }
}
