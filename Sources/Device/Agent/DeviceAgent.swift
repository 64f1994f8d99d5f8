import AgentModel
import AppProtocol
import AppServer
import Connectivity
import Failover
import KeyFile
import Linux
import Logging
import NIOCore
import Netlink

/// The agent: hands what happens to the policy, and has done what the policy wants.
///
/// All of it runs on the agent's loop. Whatever takes time (a scan, a join, a measurement) is a task whose end is one more
/// event, marked with the order it answers, so that what comes too late is known to be late.
@AgentLoop
public final class DeviceAgent {
    let settings: AgentSettings
    let identity: DeviceIdentity
    let seals: SealOpener
    let store: Store
    let routes: RouteMonitor
    /// The station in use, and the one by which the next network is joined, where there is one.
    var station: Station
    var spare: Station?
    var steering: RouteSteering?
    /// How the device would move to another network, once that is known.
    var handover: Handover?
    var handoverReviews: UInt64 = 0
    /// What the policy was told last.
    var isSpareReady = false
    let reach: ConnectivityMonitor
    let outside: NetworkReadings
    let claims: HotspotClaims
    let reachability: ReachabilityMonitor
    var reachabilityChanges: Task<Void, Never>?
    let diagnoses = DiagnosisDesk()
    /// Which interface reachability was told to be captive.
    var captiveInterface: String?
    private let inbox: Inbox
    private let recording: Recording?
    let hub: EventHub
    let log: Logger

    var policy: FailoverPolicy
    /// The key file's content, as last stored.
    var state: StoredState
    var book = NetworkBook()
    var journal: NetworkJournal
    var noted = JournalNoted()
    var journalTimer: LoopTimer?
    var isWritingJournal = false
    var ledger = SwitchLedger()
    /// The switch that was accepted and has not begun.
    var departure: Departure?
    /// Outcomes of switches on their way to the disk, by the ledger's number.
    var settlements: [UInt64: Task<Void, Never>] = [:]
    /// Of which networks the policy was told where they were.
    var remembered: Set<NetworkID> = []
    /// Networks of which it was said that what bears their name is refused.
    var refused: Set<NetworkID> = []
    var history = DecisionHistory()
    var scans = ScanDesk()
    var signal: SignalWatcher?
    var beacons: BeaconWatcher?
    /// What the policy was told last.
    var otherUplink: Uplink?
    var sleepWatch = SleepWatch()
    /// The network in use, as far as the book knows.
    private var used: NetworkID?

    private var onAddressChange: (Set<String>) -> Void = { _ in }
    var standing = Standing()
    /// What keeps the agent from its work.
    var troubles = TroubleDesk()
    /// Before that, a switch that a restart cut short has the word.
    private var hasBegun = false
    /// Those who want to switch, and wait until it has.
    private var early: [CheckedContinuation<Void, Never>] = []
    private var status: NetworkStatus?
    var wake: LoopTimer?
    var wakeGuard = WakeGuard()
    private var events: [PolicyEvent] = []
    private(set) var isHandling = false

    private init(
        settings: AgentSettings, identity: DeviceIdentity, store: Store, state: StoredState, station: Station,
        spare: Station?, routes: RouteMonitor, reach: ConnectivityMonitor, outside: NetworkReadings, inbox: Inbox,
        recording: Recording?,
        hub: EventHub, log: Logger
    ) {
        self.settings = settings
        self.identity = identity
        seals = SealOpener(identity.key)
        self.store = store
        self.state = state
        self.station = station
        self.spare = spare
        self.routes = routes
        self.reach = reach
        self.outside = outside
        claims = HotspotClaims(of: reach.hotspots)
        reachability = ReachabilityMonitor(of: .internet, routes: routes)
        self.inbox = inbox
        self.recording = recording
        self.hub = hub
        self.log = log
        policy = FailoverPolicy(settings: settings.policy)
        journal = NetworkJournal(state)
    }

    /// Puts an agent together. It touches nothing before `begin`, and then it keeps what link it finds.
    /// - Throws: where the agent could not do anything useful: a key file that is in use or unreadable. A kernel without
    ///   nl80211 may get it later.
    /// - Parameter group: on which everything runs that the agent does in the network.
    public static func prepare(
        settings: AgentSettings, hub: EventHub, on group: any EventLoopGroup, log: Logger
    ) async throws -> DeviceAgent {
        try FactoryReset.requireNone(in: settings.stateDirectory)
        let inbox = Inbox()
        let routes = try await RouteMonitor { inbox.put(.route($0)) }
        // Before the store, which says what it found amiss each time it is opened.
        var radios: [WirelessRadio] = []
        for interface in [settings.interface] + [settings.spareInterface].compactMap(\.self) {
            radios.append(try await WirelessRadio(interface: interface) { inbox.put(.radio($0, interface)) })
        }
        let store = try Store(settings)
        for finding in await store.report { log.log(level: finding.isSerious ? .error : .warning, "\(finding)") }
        let identity = try DeviceIdentity.load(from: settings.stateDirectory)
        let outside = NetworkReadings(ReadingMarks(in: settings.socketFolder + "/reading", log: log))
        let stations = radios.map { radio in
            let interface = radio.interface
            return Station(
                settings, interface: interface, radio: radio,
                network: InterfaceNetwork(interface: interface, on: group, watchedBy: outside.marks)
            ) { inbox.put(.supplicant($0, interface)) }
        }
        return DeviceAgent(
            settings: settings, identity: identity, store: store, state: await store.state, station: stations[0],
            spare: stations.dropFirst().first, routes: routes,
            reach: try reachWatch(
                settings, through: stations[0].network, routes: routes, on: group, watchedBy: outside),
            outside: outside, inbox: inbox,
            recording: settings.recording(log: log), hub: hub, log: log)
    }

    /// Sets to work.
    /// - Parameters:
    ///   - onAddressChange: is told the addresses of all the device's interfaces, in text form, whenever they change.
    ///   - onStandingChange: is told how the device stands, in a line for a person, whenever that changes.
    public func begin(
        onAddressChange: @escaping @AgentLoop (Set<String>) -> Void = { _ in },
        onStandingChange: @escaping @AgentLoop (String) -> Void = { _ in }
    ) {
        self.onAddressChange = onAddressChange
        standing.onChange = onStandingChange
        reportLimits()
        publishNetworks()
        if let pending = state.pendingSwitch { resume(pending) }
        beginReachWatch()
        beginStations()
        inbox.deliver { [weak self] in self?.observe($0) }
        handle(.interface(isUp: isInterfaceUp))
        otherUplink = routes.uplink(besides: stations.compactMap(\.radio.interfaceIndex))
        handle(.otherUplink(otherUplink))
        for station in stations { station.supplicant.start() }
        reviewHandover()
        updateStatus()
        hasBegun = true
        for continuation in early { continuation.resume() }
        early = []
    }

    /// Returns when the agent has set to work, which is a moment after programs of this machine are answered.
    func isAtWork() async {
        guard !hasBegun else { return }
        await withCheckedContinuation { early.append($0) }
    }

    /// Lets go of everything, and keeps what was learnt. The link stays up.
    public func stop() async {
        handle(.stop)
        departure = nil
        wake = nil
        signal = nil
        beacons = nil
        reachabilityChanges?.cancel()
        reachability.stop()
        claims.stop()
        await reach.stop()
        steering = nil
        for station in stations {
            station.grace = nil
            station.supplicant.stop()
        }
        journalTimer = nil
        troubles.patience = nil
        await writeJournal()
        recording?.finish()
        outside.marks.finish()
    }

    // MARK: Events and actions

    /// Hands an event to the policy and carries out what it wants. An event that comes up meanwhile waits its turn.
    func handle(_ event: PolicyEvent) {
        if sleepWatch.hasSlept() { events.append(.resumed) }
        events.append(event)
        guard !isHandling else { return }
        isHandling = true
        var isNews = false
        var last = (event: event, at: Instant.now)
        while !events.isEmpty {
            let event = events.removeFirst()
            log.trace("event: \(event)")
            let now = Instant.now
            last = (event, now)
            let actions = policy.handle(event, at: now)
            recording?.append(event, at: now, actions)
            if isLeaving(by: actions, after: event) { reach.logOff() }
            if actions.contains(where: \.isSuccession) { useSuccessor(whileOldIsAlive: !event.endsLink) }
            // Before the actions: a probe is answered on the path that it is about.
            followPath()
            isNews = note(event) || isNews
            for action in actions { perform(action) }
        }
        isHandling = false
        forgetWhatIsLeft()
        switch policy.phase {
        case .online, .proving: station.lastLinked = policy.phase.network
        case .offline, .joining, .waitingForAddress: break
        }
        sleep(after: last.event, at: last.at)
        if isNews { reviewJournal() }
        reviewTroubles()
        updateStatus()
        updateStanding()
        beacons?.lookForTraffic()
    }

    /// A network that is not one to join any more is forgotten when the device leaves it.
    private func forgetWhatIsLeft() {
        guard policy.phase.network != used else { return }
        used = policy.phase.network
        book.forget(allBut: policy.networks.map(\.id) + [used].compactMap(\.self))
    }

    /// Tells the policy which networks there are now, and of the new ones where they were.
    func publishNetworks() {
        var state = state
        // Also an outcome that could not be stored yet.
        journal.settle(&state)
        // And what joins have shown: that counts at once.
        journal.raiseFloors(of: &state)
        let command = state.pendingSwitch.flatMap { ledger[$0.id] }
        let networks = book.known(
            in: state, target: command?.target, origin: command?.origin, keeping: policy.phase.network)
        handle(.networks(networks))
        for network in networks where !remembered.contains(network.id) {
            guard let statistics = state.statistics[network.ssid] else { continue }
            if let frequency = statistics.lastFrequency { handle(.remembered(network.id, frequency)) }
            // They speak for one key.
            guard !state.hasTwoKeys(of: network.ssid) else { continue }
            for bssid in statistics.provenAccessPoints { handle(.proven(network.id, bssid)) }
        }
        remembered = Set(networks.map(\.id))
    }

    // MARK: Status

    var isInterfaceUp: Bool { isUp(station) }

    /// The status as it follows from what is known, without a new measurement.
    var currentStatus: NetworkStatus {
        let uplink = routes.uplink
        let flags = NetworkFlags.allowed(
            uplink: otherUplink, radioPresent: radio.interfaceIndex != nil, switchInProgress: ledger.current != nil)
        var status = NetworkStatus(
            state: policy.phase.linkState, uplink: uplink?.kind, carrier: uplink?.carrier?.kind, flags: flags,
            addresses: addresses.map(\.text), since: status?.since ?? .now)
        if let network = policy.phase.network.flatMap({ book[$0] }) {
            status.ssid = network.ssid
            status.hash = network.hash(localKey: identity.localKey)
        }
        if let accessPoint = policy.phase.accessPoint {
            status.bssid = accessPoint.bssid
            status.frequency = accessPoint.frequency
        }
        status.connectivity = reach.connectivity
        status.handover = handover
        return status
    }

    func updateStatus() {
        var new = currentStatus
        if new.bssid != status?.bssid { standing.signal = nil }
        if new.state != status?.state || new.ssid != status?.ssid { new.since = .now }
        guard new.news != status?.news else { return }
        status = new
        hub.publish(.networkChanged(new))
    }

    /// Tells whoever has to know which addresses the device has now.
    func addressesChanged() { onAddressChange(Set(routes.addresses.map(\.text))) }

    /// Those of the interface in use.
    var addresses: [Address] { addresses(of: station) }
}

extension FailoverPolicy.Phase {
    var linkState: LinkState {
        switch self {
        case .offline: .offline
        case .joining: .joining
        case .waitingForAddress: .waitingForAddress
        // Whether the device stays there is another question, which the switch's progress answers.
        case .proving, .online: .online
        }
    }
}
