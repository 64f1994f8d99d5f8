import AgentCore
import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Runs the agent's core on a simulated device, like `DeviceAgent` on a real one. Turns reports into events and
/// performs the effects in order. The core makes all decisions.
///
/// Actions without a model take no time: the key file stores, apps get answers, and providers sign off immediately.
/// With `isOutside`, the caller provides apps and key file.
struct AgentRunner: DeviceRunner {
    struct Environment {
        /// Key for network hashes.
        var key = Secret(text: "simulated-device")
        /// Content of the key file; nil to derive it from the world.
        var state: StoredState?
        /// Maximum number of backups; nil for the number of the scenario's networks.
        var maximumBackups: Int?
        /// Wall-clock time at the start of the run. The default is the beginning of 2026.
        var beginning = Timestamp(millisecondsSince1970: 1_767_225_600_000)
        /// Whether the caller provides apps and key file. Effects for them go to `outgoing`.
        var isOutside = false
        /// Key file; nil to keep the state in memory.
        var store: (any DeviceStore)?
    }

    private static let names: [StationID] = ["wlan0", "wlan1"]

    private let environment: Environment
    private(set) var core: AgentCore
    var outgoing: [Effect] = []
    var trace: SwitchTrace?
    private var disk: StoredState
    private var timers: [AgentTimer: Int64] = [:]
    var armedTimers: Int { timers.count }
    /// Time of a commit in milliseconds.
    var commitTime: Int64 = 0
    /// Results of commits under way, with their times.
    private var storing: [(at: Int64, result: AgentEvent)] = []
    private(set) var commits = 0
    /// Number of log lines above level debug, and of decisions, which a device logs.
    private(set) var logLines = 0
    /// Number of changes that the app ordered.
    private(set) var orders = 0
    /// Steps of the wall clock so far, in milliseconds.
    var clockShift: Int64 = 0
    /// Called with each event and action of the policy; with nil when the agent starts.
    var onRecord: ((PolicyEvent?, [PolicyAction], Instant) -> Void)?
    private var scans: [Int: ScanOwner] = [:]
    /// Events that arrived while the runner performed effects.
    private var waiting = Queue<AgentEvent>()
    private var isHandling = false
    var beacons: BeaconSampler?
    /// Simulated probes; nil if the scenario's settings have no validation.
    var probes: SimulatedProbes?
    private var requests: UInt64 = 0
    /// Static address of each station; missing if the station uses DHCP.
    private var fixed: [StationID: StaticAddress] = [:]
    /// Delay after which the app confirms a switch, by switch ID.
    private var confirmations: [String: Duration] = [:]
    /// ID of the switch that waits for confirmation.
    private var unconfirmed: String?
    /// Passwords that the app has sent last.
    private var told: [SSID: String?] = [:]

    init(_ world: World, stations: Int, environment: Environment = Environment()) {
        self.environment = environment
        disk = environment.state ?? StoredState(of: world)
        core = Self.core(disk, world.scenario, stations: stations, environment)
    }

    private static func core(
        _ state: StoredState, _ scenario: Scenario, stations: Int, _ environment: Environment
    ) -> AgentCore {
        AgentCore(
            settings: AgentCore.Settings(
                policy: scenario.settings, maximumBackups: environment.maximumBackups ?? scenario.networks.count,
                hasProviders: scenario.signInTime != nil),
            state: state, station: names[0], spare: stations > 1 ? names[1] : nil, localKey: environment.key)
    }

    func nextWake(at now: Int64) -> Int64 {
        min(timers.values.min() ?? .max, beacons?.next ?? .max, probes?.next ?? .max, storing.first?.at ?? .max)
    }

    mutating func handle(_ report: DeviceReport, of device: inout SimulatedDevice) {
        switch report {
        case .started: start(&device)
        case .stopped: handle(.stop, &device)
        case .wake:
            while let done = storing.first, done.at <= device.now { handle(storing.removeFirst().result, &device) }
            fireTimers(&device)
            runProbes(&device)
            sampleBeacons(&device)
        case .passBegan: reset(&device)
        case .linked(let station, let attempt, let index, _):
            handle(
                .supplicant(Self.names[station], .connected(attempt: attempt, bssid: device.world.tracks[index].bssid)),
                &device)
        case .joinFailed(let station, let attempt, let failure):
            handle(
                .supplicant(Self.names[station], .joinFailed(attempt: attempt, failure, detail: failure.rawValue)),
                &device)
        case .linkLost(let station, let end):
            handle(.supplicant(Self.names[station], .disconnected(end)), &device)
        case .addressReady(let station):
            guard let address = address(of: station, device) else { break }
            handle(.route(.addressAdded(address)), &device)
        case .addressRemoved, .otherUplink: handle(.route(.resynchronise), &device)
        case .scanBegan: handle(.radio(core.inUse, .scanStarted), &device)
        case .supplicantScanned(let isAborted):
            handle(.radio(core.inUse, .scanFinished(aborted: isAborted)), &device)
        case .scanEnded(let number, let isAborted): scanEnded(number, isAborted: isAborted, &device)
        case .signal(let level): handle(.signal(level), &device)
        case .signalCrossed(let station, let level):
            handle(.radio(Self.names[station], .signalHigh(level)), &device)
        // Does not occur: `SimulatedProbes` replaces the device's own probes.
        case .probed: break
        case .doubted(let station, _): noticeSilence(of: station, &device)
        case .supplicant(let isAvailable, _):
            for index in device.stations.indices {
                handle(.supplicant(Self.names[index], isAvailable ? .available : .unavailable), &device)
            }
        case .passwordGiven where environment.isOutside: break
        case .passwordGiven(let ssid, let password):
            told[ssid] = password
            sendPassword(password, of: ssid, &device)
        case .command(let target, let confirmWithin, let confirmAfter):
            command(target, confirmWithin: confirmWithin, confirmAfter: confirmAfter, &device)
        case .confirmation: if let unconfirmed { request(.confirmSwitch(unconfirmed), &device) }
        case .resumed: handle(.resumed, &device)
        }
    }

    // MARK: Events

    /// Passes an event to the core and performs the effects. Queues events that arrive meanwhile.
    mutating func handle(_ event: AgentEvent, _ device: inout SimulatedDevice) {
        waiting.append(event)
        guard !isHandling else { return }
        isHandling = true
        while let event = waiting.popFirst() {
            let effects = core.handle(event, kernel: kernelSnapshot(of: device), at: clock(device))
            trace?.record(event, effects, at: device.now)
            for effect in effects { perform(effect, &device) }
        }
        isHandling = false
    }

    /// Updates the core's kernel snapshot for a query between events.
    mutating func refreshKernelSnapshot(of device: SimulatedDevice) { core.kernel = kernelSnapshot(of: device) }

    func clock(_ device: SimulatedDevice) -> ClockReading {
        ClockReading(
            instant: Instant(milliseconds: device.now),
            time: Timestamp(
                millisecondsSince1970: environment.beginning.millisecondsSince1970 + device.now + clockShift))
    }

    private mutating func request(_ request: AgentRequest, _ device: inout SimulatedDevice) {
        orders += 1
        requests += 1
        handle(.request(RequestID(requests), request), &device)
    }

    private mutating func fireTimers(_ device: inout SimulatedDevice) {
        let due = timers.filter { $0.value <= device.now }.sorted { ($0.value, "\($0.key)") < ($1.value, "\($1.key)") }
        for (timer, moment) in due where timers[timer] == moment {
            timers[timer] = nil
            handle(.timer(timer), &device)
        }
    }

    private func kernelSnapshot(of device: SimulatedDevice) -> KernelSnapshot {
        var snapshot = KernelSnapshot()
        var isOnline = false
        for index in device.stations.indices {
            var facts = KernelSnapshot.Station(index: index)
            facts.isScanning = device.scan.map { scans[$0.number] != nil } ?? false
            if let lease = device.stations[index].lease {
                let fixed = fixed[Self.names[index]]
                facts.addresses = [address(of: index, in: lease.network)]
                facts.routes = [
                    DefaultRoute(
                        family: .ipv4, gateway: fixed?.gateway?.bytes ?? Self.address(1, in: lease.network),
                        index: index, metric: 0)
                ]
                isOnline = true
            }
            snapshot.stations[Self.names[index]] = facts
        }
        snapshot.otherUplink = device.otherUplink
        snapshot.uplink = device.otherUplink ?? (isOnline ? .wifi : nil)
        snapshot.uplinkInterface = snapshot.uplink == .wifi ? Self.names[device.inUse].interface : nil
        return snapshot
    }

    private func address(of station: Int, _ device: SimulatedDevice) -> InterfaceAddress? {
        device.stations[station].lease.map { address(of: station, in: $0.network) }
    }

    private func address(of station: Int, in network: Int) -> InterfaceAddress {
        let fixed = fixed[Self.names[station]]
        return InterfaceAddress(
            family: .ipv4, bytes: fixed?.address.bytes ?? Self.address(17, in: network),
            prefixLength: fixed?.prefixLength ?? 24, index: station)
    }

    /// - Parameters:
    ///   - host: last byte of the address.
    ///   - network: index of the network in the scenario.
    private static func address(_ host: UInt8, in network: Int) -> [UInt8] {
        let number = UInt16(truncatingIfNeeded: network + 1)
        return [10, UInt8(number >> 8), UInt8(truncatingIfNeeded: number), host]
    }

    // MARK: Start and app requests

    private mutating func start(_ device: inout SimulatedDevice) {
        if let store = environment.store { disk = store.state }
        onRecord?(nil, [], Instant(milliseconds: device.now))
        core = Self.core(disk, device.world.scenario, stations: device.stations.count, environment)
        (timers, scans, beacons, storing) = ([:], [:], nil, [])
        probes = SimulatedProbes(device.world.scenario, at: clock(device))
        recordPreferred(&device)
        handle(.begin(inUse: Self.names[device.inUse]), &device)
        handle(.atWork, &device)
    }

    /// If the stored networks have changed, restores the scenario's initial ones and restarts the agent.
    private mutating func reset(_ device: inout SimulatedDevice) {
        guard disk.hasChanged(since: device.world) else { return }
        handle(.stop, &device)
        device.forgetOrders()
        disk = disk.reset(to: device.world)
        start(&device)
    }

    private mutating func sendPassword(_ password: String?, of ssid: SSID, _ device: inout SimulatedDevice) {
        request(.updateBackups(disk.update(telling: password, of: ssid, localKey: environment.key)), &device)
    }

    /// Sends the current password of each network that the device has another one for, as an app does that got no
    /// answer.
    mutating func retryPassword(_ device: inout SimulatedDevice) {
        guard device.isAgentUp else { return }
        for (ssid, password) in told where disk.backups.contains(where: { $0.ssid == ssid }) {
            let wanted = disk.backups.first { $0.ssid == ssid }?.hasPassword(password)
            if wanted == false { sendPassword(password, of: ssid, &device) }
        }
    }

    private mutating func command(
        _ target: Int, confirmWithin: Duration?, confirmAfter: Duration?, _ device: inout SimulatedDevice
    ) {
        let ssid = device.world.scenario.networks[target].ssid
        guard let network = disk.namedNetworks.first(where: { $0.ssid == ssid }) else { return }
        let switchID = "switch-\(requests + 1)"
        confirmations[switchID] = confirmAfter
        request(
            .switchNetwork(
                .stored(network.hash(localKey: environment.key)),
                confirmWithin: confirmWithin.map { Int($0.components.seconds) }, joinOnce: false, switchID: switchID),
            &device)
    }

    private mutating func switchProgressed(_ status: SwitchStatus, _ device: inout SimulatedDevice) {
        switch status.phase {
        case .waitingForConfirmation:
            guard let after = confirmations[status.switchId] else { return }
            unconfirmed = status.switchId
            return device.confirmAt = device.now + max(0, after.milliseconds)
        case .committed: device.account.result.committed += 1
        case .rolledBack: device.account.result.rolledBack += 1
        case .failed: device.account.result.failed += 1
        default: return
        }
        device.confirmAt = .max
        confirmations[status.switchId] = nil
    }

    private func recordPreferred(_ device: inout SimulatedDevice) {
        device.preferred = disk.preferred.flatMap { device.world.network(named: $0.ssid) }
    }

    // MARK: Effects

    private mutating func perform(_ effect: Effect, _ device: inout SimulatedDevice) {
        if environment.isOutside, effect.concernsOutside { return outgoing.append(effect) }
        switch effect {
        case .join(let station, let request, let attempt, _, _):
            join(request, attempt: attempt, Self.index(station), &device)
        case .leave(let station, _): leave(Self.index(station), &device)
        case .use(let station): device.use(Self.index(station))
        case .askSupplicant(let station, let question):
            waiting.append(.linkAnswer(station, question, linkAnswer(of: Self.index(station), device)))
        case .askKernel(let station, let link):
            if device.stations[Self.index(station)].link == nil { waiting.append(.linkGone(link)) }
        case .reviewHandover(let number, _, let spare, let isSpareAnswering):
            let found: Handover =
                spare == nil
                ? .breakBeforeMake(.notSet) : isSpareAnswering ? .makeBeforeBreak : .breakBeforeMake(.spareNotReady)
            waiting.append(.handoverFound(number, found))
        case .startSupplicants:
            guard device.supplicant.isRunning else { break }
            for index in device.stations.indices { waiting.append(.supplicant(Self.names[index], .available)) }

        case .askNameLimit(let station): waiting.append(.nameLimit(station, .max))
        case .scan(_, let owner, let ssids, let frequencies, _): scan(owner, ssids, frequencies, &device)
        case .abortScan: device.abortScan()
        case .readScan(_, let order): waiting.append(.scanRead(device.scanResults(), after: order))
        case .watchSignal(let station, let watch): device.watchSignal(watch, of: Self.index(station), isSampling: false)
        case .measure(let station, let number):
            let index = Self.index(station)
            if let level = device.signal(of: index) {
                waiting.append(.measured(number, level, device.lossCounts(of: index)))
            }
        case .claim: waiting.append(.claimed([:]))
        case .watchBeacons(let station, let accessPoint):
            beacons = accessPoint.map { BeaconSampler($0, on: Self.index(station), device) }
        case .beaconsDuringScan(let isUnderWay): sendBeacons(.scan(isUnderWay: isUnderWay), &device)
        case .beaconsAnswered(let isThere): sendBeacons(.asked(isThere: isThere), &device)
        case .lookForTraffic: lookForTraffic(&device)

        case .signOff: reach(.logOff, &device)
        case .follow(let path, _, let isMetered): reach(.follow(path, isMetered: isMetered), &device)
        case .standsBy: break
        case .leaveSuccessorProbe: reach(.leaveSuccessor, &device)
        case .probe(let epoch, let limit):
            device.account.result.probes += 1
            reach(.probe(epoch: epoch, within: limit), &device)
        case .probeSuccessor(let epoch, let station, let limit):
            device.account.result.probes += 1
            reach(.probeSuccessor(epoch: epoch, station, within: limit), &device)
        case .readConnectivity: waiting.append(.connectivity(connectivity(device) ?? Connectivity()))
        case .checkStore: waiting.append(.storeChecked(isWritable: environment.store?.isFull != true))

        case .answer(_, .success(.switchStatus(let status))):
            waiting.append(.answerSent(switchID: status.switchId))
        case .answer(_, .failure): device.account.result.refused += 1
        case .publish(.switchProgress(let status)): switchProgressed(status, &device)
        case .commit(let id, let change): commit(id, change, &device)
        case .record(let event, let actions):
            device.account.result.events += 1
            onRecord?(event, actions, Instant(milliseconds: device.now))
            for case .record(let decision) in actions {
                logLines += 1
                device.account.record(decision, at: device.now)
            }
        case .log(let level, _): if level != .debug { logLines += 1 }
        case .wait(let timer, let moment, _):
            timers[timer] = moment.map { max($0.milliseconds, device.now) }

        case .seekAddress(let station, let request): fixed[station] = request.fixed
        // Changes nothing in the world.
        case .recover(_, let step):
            device.account.result.recoverySteps += 1
            waiting.append(.recoveryEnded(step, problem: nil))
        // Not modelled: interfaces are always up, and the country's rules are known.
        case .checkUplinks, .prefer, .confirmAddress, .setStaticIPv6, .dropAddress, .bringUp, .readRules, .addInterface,
            .setCaptive, .answer, .publish, .service, .checkRadio, .disconnect, .restoreRadio, .rememberRecovery,
            .askSetupAccessPointRadio, .openSetupAccessPoint, .closeSetupAccessPoint, .rememberSetupAccessPoint,
            .addressesChanged, .explain, .listenForConfigurator:
            break
        }
    }

    static func index(_ station: StationID) -> Int { names.firstIndex(of: station) ?? 0 }

    private mutating func join(
        _ request: JoinRequest, attempt: UInt64, _ station: Int, _ device: inout SimulatedDevice
    ) {
        let hadLink = device.stations[station].link != nil
        if environment.isOutside { device.learn(request) }
        guard let network = device.world.network(named: request.ssid),
            device.join(
                SimulatedDevice.JoinOrder(
                    attempt: attempt, network: network, isOpen: request.credential == .none, bssid: request.bssid,
                    frequencies: request.frequencies), with: station)
        else { return waiting.append(.joinRefused(attempt: attempt, .supplicantUnavailable)) }
        // wpa_supplicant reports the end of the old link without a reason.
        if hadLink {
            waiting.append(.supplicant(Self.names[station], .disconnected(reason: 0, locallyGenerated: true)))
        }
    }

    private mutating func leave(_ station: Int, _ device: inout SimulatedDevice) {
        guard device.leave(station) else { return }
        waiting.append(.supplicant(Self.names[station], .disconnected(.ownDoing)))
    }

    private func linkAnswer(of station: Int, _ device: SimulatedDevice) -> LinkAnswer {
        guard device.supplicant.isRunning else { return .none }
        guard let link = device.stations[station].link else { return .notLinked }
        let track = device.world.tracks[link.accessPoint]
        return .linked(
            LinkFacts(
                ssid: track.ssid, bssid: track.bssid, frequency: track.frequency,
                security: link.key == Keys.open ? .open : .wpa2))
    }

    private mutating func scan(
        _ owner: ScanOwner, _ ssids: [SSID], _ frequencies: [Frequency], _ device: inout SimulatedDevice
    ) {
        var isQuestion = false
        if case .silence = owner { isQuestion = true }
        guard let number = device.scan(frequencies, calling: ssids, isQuestion: isQuestion) else {
            return waiting.append(.scanEnded(owner, .busy(ProtocolError(.scanBusy, "another scan is running"))))
        }
        scans[number] = owner
        waiting.append(.scanBegan(owner))
    }

    /// Reports the kernel's event first, then the end of the scan that the core ordered.
    private mutating func scanEnded(_ number: Int, isAborted: Bool, _ device: inout SimulatedDevice) {
        handle(.radio(core.inUse, .scanFinished(aborted: isAborted)), &device)
        guard let owner = scans.removeValue(forKey: number) else { return }
        handle(.scanEnded(owner, isAborted ? .aborted : .finished(device.scanResults())), &device)
    }

    private mutating func commit(_ id: CommitID, _ change: StateChange, _ device: inout SimulatedDevice) {
        commits += 1
        var new = disk
        var result: AgentEvent
        do throws(ProtocolError) {
            try change.apply(to: &new)
            try environment.store?.commit(new)
            disk = environment.store?.state ?? new
            recordPreferred(&device)
            result = .committed(id, disk)
        } catch {
            result = .refusedCommit(id, error)
        }
        if commitTime == 0, storing.isEmpty { return waiting.append(result) }
        storing.append((max(device.now + commitTime, storing.last?.at ?? 0), result))
    }

    // MARK: External key file

    /// An external key file has stored a change.
    mutating func committed(_ id: CommitID, _ state: StoredState, _ device: inout SimulatedDevice) {
        disk = state
        recordPreferred(&device)
        handle(.committed(id, state), &device)
    }
}

extension Effect {
    fileprivate var concernsOutside: Bool {
        switch self {
        case .answer, .publish, .commit, .log, .service: true
        default: false
        }
    }
}

extension SupplicantEvent {
    /// Returns a disconnection with the reason code of this end (IEEE 802.11-2020, table 9-49).
    fileprivate static func disconnected(_ end: LinkEnd) -> SupplicantEvent {
        switch end {
        case .ownDoing: .disconnected(reason: 3, locallyGenerated: true)
        case .silence: .disconnected(reason: 4, locallyGenerated: true)
        case .other: .disconnected(reason: 6, locallyGenerated: false)
        }
    }
}
