import AgentCore
import AgentModel
import AppProtocol
import AppServer
import Connectivity
import DevicePage
import Failover
import KeyFile
import Linux
import Logging
import NIOCore
import Netlink
import Supplicant

/// Runs the core on the device: converts input from sockets, timers and files to events, and performs the core's
/// effects in their order.
///
/// Everything runs on the agent's loop. Slow work (a scan, a join, a measurement) is a task that ends with an event.
/// The event names the order that started the task, so that the core can ignore late results.
@AgentLoop
public final class DeviceAgent {
    let settings: AgentSettings
    let identity: DeviceIdentity
    /// Pseudonyms of networks for all output except answers to apps.
    package nonisolated let names: NetworkNames
    let seals: SealOpener
    let keys: KeyRing
    let store: Store
    let routes: RouteMonitor
    private let stations: [Station]
    var steering: RouteSteering?
    /// Sets the system's name servers; nil if the agent must not set them.
    private let resolver: SystemResolver?
    private(set) var modems: ModemWatch?
    let reach: ConnectivityMonitor
    let uplinks: UplinkMonitor
    let targetStore: TargetStore
    let outside: NetworkReadings
    let reachability: ReachabilityMonitor
    var reachabilityChanges: Task<Void, Never>?
    let diagnoses = DiagnosisRunner()
    private let queue: EventQueue
    let recording: Recording?
    let hub: EventHub
    let log: Logger

    private(set) var core: AgentCore
    /// Events that arrived while effects were performed.
    private var events: [AgentEvent] = []
    private var isHandling = false
    private var sleepWatch = SleepWatch()

    private var unanswered: [RequestID: CheckedContinuation<Result<Response.Body, ProtocolError>, Never>] = [:]
    private var requests: UInt64 = 0
    var timers: [AgentTimer: LoopTimer] = [:]
    /// Last commit. The next commit waits for it.
    var lastCommit: Task<Void, Never>?
    var beacons: BeaconLossMonitor?
    let radioHelper = RadioHelper()
    let recoveryStore: BootRecordStore<RecoveryFile>
    let keyExpiry: KeyExpiry
    let setupAccessPointStore: BootRecordStore<SetupAccessPointFile>
    let nameStore: BootRecordStore<DeviceNameFile>
    /// Name in the file of `nameStore`; nil before the first write.
    var writtenName: DeviceName??
    /// The open setup access point, with the number of the order that opened it; nil while it is closed.
    var setupAccessPointInterface: (number: UInt64, interface: SetupAccessPointInterface)?
    var setupAccessPointLeftover: Task<Void, Never>?
    /// Access points in range before the station's interface went down for the setup access point.
    var seenBeforeSetupAccessPoint: [BSS] = []
    var setupAccessPointPage: AccessPointPage?
    /// Timer between setting an interface down and up.
    var interfacePause: LoopTimer?
    var onAddressChange: (Set<String>) -> Void = { _ in }
    private var onRadioMove: (RadioMoved) -> Void = { _ in }
    var onServiceStatus: (String) -> Void = { _ in }

    private init(
        settings: AgentSettings, identity: DeviceIdentity, store: Store, state: StoredState, stations: [Station],
        routes: RouteMonitor, reach: ConnectivityMonitor, targetStore: TargetStore, outside: NetworkReadings,
        queue: EventQueue, recording: Recording?, hub: EventHub, log: Logger
    ) {
        self.settings = settings
        self.identity = identity
        names = identity.networkNames
        keys = KeyRing(identity, in: settings.stateDirectory) { [log] in
            log.error("\($0); their apps cannot connect")
        }
        keyExpiry = KeyExpiry(keys) { [log] level, text in log.log(level: .init(level), "\(text)") }
        seals = SealOpener(identity, keys: keys)
        self.store = store
        self.stations = stations
        self.routes = routes
        self.reach = reach
        self.targetStore = targetStore
        self.outside = outside
        uplinks = UplinkMonitor(
            beside: reach, required: targetStore.required, budget: settings.connectivity.budget)
        reachability = ReachabilityMonitor(of: .internet, routes: routes)
        let tells = settings.addressClient == .altnet && settings.resolver != .none
        resolver = tells ? SystemResolver { [log] level, text in log.log(level: level, "\(text)") } : nil
        self.queue = queue
        self.recording = recording
        self.hub = hub
        self.log = log
        let recoveryFile = RecoveryFile(directory: settings.stateDirectory)
        recoveryStore = BootRecordStore(recoveryFile)
        let setupAccessPointFile = SetupAccessPointFile(directory: settings.socketFolder)
        setupAccessPointStore = BootRecordStore(setupAccessPointFile)
        nameStore = BootRecordStore(DeviceNameFile(directory: settings.socketFolder))
        let point = SetupAccessPointCredentials(of: identity.key, named: settings.setupAccessPoint?.name)
        core = AgentCore(
            settings: AgentCore.Settings(
                policy: settings.policy, maximumBackups: settings.maximumBackups,
                watchesSilence: settings.silentBeacons > 0, hasProviders: reach.hotspots != nil,
                country: settings.country, assignsAddresses: settings.addressClient == .altnet,
                recovery: settings.recovery, setupAccessPoint: settings.setupAccessPoint?.times,
                setupAccessPointName: point?.ssid,
                listensForConfigurator: settings.easyConnect == .unprovisioned),
            state: state, station: stations[0].id, spare: stations.dropFirst().first?.id, localKey: identity.localKey,
            recovery: recoveryFile.read(boot: SystemStart.id, now: .now),
            setupAccessPoint: setupAccessPointFile.read(boot: SystemStart.id, now: .now))
        refreshKernelSnapshot()
        modems = ModemWatch(log: { [log] level, text in log.log(level: level, "\(text)") }) { [weak self] in
            self?.modemsChanged()
        }
    }

    /// Creates an agent. The agent changes nothing before `begin`, and then keeps an existing link.
    /// - Throws: an error that prevents the agent's work, such as a key file in use. A missing nl80211 is not an error.
    /// - Parameter group: event loops for the agent's connections.
    public static func prepare(
        settings: AgentSettings, hub: EventHub, on group: any EventLoopGroup, log: Logger
    ) async throws -> DeviceAgent {
        try FactoryReset.requireNone(in: settings.stateDirectory)
        let queue = EventQueue()
        let routes = try await RouteMonitor { queue.put(.route($0)) }
        // Open the radios before the store: the store reports its findings each time it is opened.
        var radios: [WirelessRadio] = []
        for interface in [settings.interface] + [settings.spareInterface].compactMap(\.self) {
            radios.append(try await WirelessRadio(interface: interface) { queue.put(.radio(StationID(interface), $0)) })
        }
        let store = try Store(settings)
        for finding in await store.report { log.log(level: finding.isSerious ? .error : .warning, "\(finding)") }
        let identity = try DeviceIdentity.load(from: settings.stateDirectory)
        let outside = NetworkReadings(ReadingMarks(in: "\(settings.socketFolder)/\(ReadingMarks.folder)", log: log))
        let assigns = settings.addressClient == .altnet
        let stations = radios.enumerated().map { position, radio in
            let interface = radio.interface
            let network = InterfaceNetwork(
                interface: interface, on: group, announcements: assigns ? .supplied : .system, watchedBy: outside.marks)
            let addresses = StationAddresses(
                interface: interface, metric: Int(position == 0 ? settings.routeMetric : settings.spareRouteMetric),
                settings: settings.dhcp(deviceId: identity.id, interface: interface), network: network,
                routes: routes
            ) { queue.put($0) }
            return Station(
                settings, interface: interface, radio: radio, network: network,
                addresses: assigns ? addresses : nil
            ) { queue.put(.supplicant(StationID(interface), $0)) }
        }
        let state = await store.state
        let targetStore = try makeTargetStore(settings, state, on: group, log: log)
        return DeviceAgent(
            settings: settings, identity: identity, store: store, state: state, stations: stations, routes: routes,
            reach: connectivityMonitor(
                settings, state, targetStore, through: stations[0].network, routes: routes, on: group,
                watchedBy: outside),
            targetStore: targetStore, outside: outside, queue: queue,
            recording: settings.recording(log: log), hub: hub, log: log)
    }

    /// Starts the agent.
    /// - Parameters:
    ///   - onAddressChange: called with the addresses of all interfaces, as text, after each change.
    ///   - onRadioMove: called when a radio of the settings has another name than at the start.
    ///   - onServiceStatus: called with a line for users each time the status changes.
    func begin(
        onAddressChange: @escaping @AgentLoop (Set<String>) -> Void,
        onRadioMove: @escaping @AgentLoop (RadioMoved) -> Void,
        onServiceStatus: @escaping @AgentLoop (String) -> Void
    ) {
        (self.onAddressChange, self.onRadioMove) = (onAddressChange, onRadioMove)
        self.onServiceStatus = onServiceStatus
        reportLimits()
        beginConnectivityMonitor()
        for station in stations { station.addresses?.onConfiguration = { [weak self] in self?.publishNameServers() } }
        handle(
            .begin(inUse: StationID(RouteSteering.used(of: stations.map(\.interface), in: routes) ?? station.interface))
        )
        beginSteering()
        removeSetupAccessPointLeftover()
        queue.deliver { [weak self] in self?.receive($0) }
        findRadios()
        handle(.atWork)
        checkStore()
        for station in stations where station.radio.interfaceIndex != nil { restoreRadio(of: station) }
        followModems()
        keyExpiry.review()
    }

    private func beginSteering() {
        steering = RouteSteering(
            stations.map(\.interface), using: station.interface, routes: routes,
            hasEndpoints: stations.count > 1 && settings.policy.keepsStandby
        ) { [log] in log.warning("\($0)") }
    }

    /// Looks for radios that have come with another name than at the start.
    func findRadios() {
        guard settings.hasRadioMoved() else { return }
        onRadioMove(RadioMoved(choices: [settings.interfaceChoice] + [settings.spareChoice].compactMap(\.self)))
    }

    public func apply(_ settings: AgentSettings) {
        for station in stations { station.supplicant.timing.joinLimit = Supplicant.Timing(settings.policy).joinLimit }
        handle(.settings(settings.policy))
    }

    /// Stops the agent and stores its statistics. The link stays up.
    public func stop() async {
        handle(.stop)
        beacons = nil
        interfacePause = nil
        reachabilityChanges?.cancel()
        reachability.stop()
        await reach.stop()
        uplinks.stop()
        await steering?.finish()
        steering = nil
        for station in stations { station.supplicant.stop() }
        await lastCommit?.value
        timers = [:]
        recording?.finish()
        modems = nil
        await setupAccessPointInterface?.interface.close().value
        setupAccessPointInterface = nil
        outside.marks.finish()
        keyExpiry.stop()
    }

    // MARK: Events

    /// Passes an event to the core and performs its effects. Queues the event if another one is being handled.
    func handle(_ event: AgentEvent) {
        if sleepWatch.hasSlept() { events.append(.resumed) }
        events.append(event)
        guard !isHandling else { return }
        isHandling = true
        while !events.isEmpty {
            let event = events.removeFirst()
            let now = ClockReading.now
            for effect in core.handle(event, kernel: kernelSnapshot, at: now) { perform(effect, at: now.instant) }
        }
        isHandling = false
    }

    /// Updates the core's snapshot of the kernel, to answer a request between events.
    func refreshKernelSnapshot() { core.kernel = kernelSnapshot }

    private var kernelSnapshot: KernelSnapshot {
        var snapshot = KernelSnapshot()
        let (addresses, defaultRoutes) = (routes.addresses, routes.defaultRoutes)
        for station in stations {
            let (radio, link) = (station.radio, routes.link(named: station.interface))
            let index = radio.interfaceIndex
            var facts = KernelSnapshot.Station(index: index)
            facts.isSupported = radio.isSupported
            (facts.hasLink, facts.isLinkUp) = (link != nil, link?.isUp ?? false)
            facts.block = link?.isUp == false ? RadioBlock(of: station.interface) : nil
            facts.isScanning = radio.isScanning
            facts.joinsByItself = radio.joinsByItself
            facts.addresses = addresses.filter { $0.index == index && $0.scope == .global }
                .sorted { ($0.bytes.count, Hex.string($0.bytes)) < ($1.bytes.count, Hex.string($1.bytes)) }
            facts.routes = defaultRoutes.filter { $0.index == index && !$0.isOwn }
            snapshot.stations[station.id] = facts
        }
        let uplink = routes.uplink
        (snapshot.uplink, snapshot.carrier) = (uplink?.kind, uplink?.carrier?.kind)
        snapshot.uplinkInterface = uplink?.interface
        snapshot.modem = modems?.status(carrying: uplink?.carrier?.interface ?? uplink?.interface)
        let other = routes.carrier(besides: stations.compactMap(\.radio.interfaceIndex))
        (snapshot.otherUplink, snapshot.otherUplinkInterface) = (other?.kind, other?.name)
        snapshot.uplinks = routes.carriers.map { carrier in
            UplinkCandidate(
                interface: carrier.interface.name, kind: carrier.interface.kind, isConnected: carrier.isConnected)
        }
        return snapshot
    }

    // MARK: Requests

    func answer(to request: AgentRequest) async throws(ProtocolError) -> Response.Body {
        requests += 1
        let id = RequestID(requests)
        return try await withCheckedContinuation { continuation in
            unanswered[id] = continuation
            handle(.request(id, request))
        }.get()
    }

    func answer(_ id: RequestID, _ result: Result<Response.Body, ProtocolError>) {
        unanswered.removeValue(forKey: id)?.resume(returning: result)
    }

    // MARK: Stations

    /// Sets the name servers for the device's programs. The servers of the station in use have priority.
    func publishNameServers() {
        for station in stations {
            guard let configuration = station.addresses?.configuration else { continue }
            if configuration.nameServers.isEmpty {
                resolver?.clear(interface: station.interface)
            } else {
                resolver?.set(
                    interface: station.interface, nameServers: configuration.nameServers,
                    searchDomains: configuration.searchDomains, carriesTraffic: station === self.station)
            }
        }
    }

    var station: Station { self[core.inUse] }
    subscript(id: StationID) -> Station { stations.first { $0.id == id } ?? stations[0] }

    func forEachStation(_ body: (Station) -> Void) { stations.forEach(body) }

    public var serviceStatus: String { core.serviceStatus }
}

extension ClockReading {
    static var now: ClockReading { ClockReading(instant: .now, time: .now) }
}

extension Supplicant.Timing {
    init(_ settings: PolicySettings) {
        self.init()
        // Slightly below the policy's limit, so that wpa_supplicant's more precise error arrives first.
        joinLimit = max(.seconds(1), settings.joinLimit - .seconds(1))
    }
}
