import AgentCore
import AgentModel
import Failover
import KeyFile

/// A policy other than altnet's: a model of another connection manager, or a test policy.
public protocol LinkPolicy {
    mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction]
    /// Latest time at which the policy needs `.tick`.
    var nextWake: Instant? { get }
}

/// Runs a policy on a simulated device with one station, and stands in for the rest of the connection manager. Queues
/// scans like wpa_supplicant, and stores changes immediately.
struct PolicyRunner<Policy: LinkPolicy>: DeviceRunner {
    /// Key for network hashes.
    private static var key: Secret { Secret(text: "simulated-device") }

    private let settings: PolicySettings
    private let makePolicy: (PolicySettings) -> Policy
    private var policy: Policy
    private var isFirst = true
    private var stored: StoredState
    private var registry = NetworkRegistry()
    /// The running scan.
    private var scan: (number: Int, order: ScanOrder)?
    /// A scan that waits for the radio.
    private var deferred: ScanOrder?
    private var command: Command?
    private var commands: UInt64 = 0
    /// Earliest time of the next tick, in milliseconds: after the last tick, so that time advances.
    private var earliestTick: Int64 = 0

    private struct Command {
        let id: UInt64
        let target: SSID
        let cameFrom: SSID?
        let confirmAfter: Duration?
    }

    init(_ world: World, makePolicy: @escaping (PolicySettings) -> Policy) {
        settings = world.scenario.settings
        self.makePolicy = makePolicy
        policy = makePolicy(settings)
        stored = StoredState(of: world)
    }

    func nextWake(at now: Int64) -> Int64 { policy.nextWake.map { max($0.milliseconds, earliestTick) } ?? .max }

    mutating func handle(_ report: DeviceReport, of device: inout SimulatedDevice) {
        switch report {
        case .started: start(&device)
        case .stopped: (scan, deferred) = (nil, nil)
        case .wake:
            earliestTick = device.now + 1
            send(.tick, &device)
        case .passBegan:
            guard stored.hasChanged(since: device.world) else { break }
            stored = stored.reset(to: device.world)
            publishNetworks(&device)
        case .linked(_, let attempt, let index, let keepsAddress):
            let track = device.world.tracks[index]
            stored.recordFrequency(track.frequency, of: track.ssid)
            stored.opened(track.bssid, of: track.ssid)
            send(.associated(epoch: attempt, AccessPoint(bssid: track.bssid, frequency: track.frequency)), &device)
            send(.address(isReady: keepsAddress), &device)
        case .joinFailed(_, let attempt, let failure): send(.joinFailed(epoch: attempt, failure), &device)
        case .linkLost(_, let end): send(.linkLost(end), &device)
        case .addressReady: send(.address(isReady: true), &device)
        case .addressRemoved, .scanBegan, .supplicantScanned(isAborted: true): break
        case .supplicantScanned(isAborted: false):
            send(.scanned(id: nil, results(&device)), &device)
            startDeferred(&device)
        case .scanEnded(let number, let isAborted): scanEnded(number, isAborted: isAborted, &device)
        case .signal(let level), .signalCrossed(_, let level): send(.signal(level), &device)
        case .probed(_, let epoch, let result): send(.probed(epoch: epoch, result), &device)
        case .doubted(_, let epoch): send(.doubted(epoch: epoch), &device)
        case .supplicant(let isAvailable, let unlinked):
            send(.supplicant(isAvailable: isAvailable), &device)
            if !unlinked.isEmpty { send(.linkLost(.ownDoing), &device) }
        case .passwordGiven(let ssid, let password):
            let before = stored.backups
            // Cannot fail, because the list has only stored and new networks.
            try? stored.apply(stored.update(telling: password, of: ssid, localKey: Self.key), localKey: Self.key)
            if stored.backups != before { publishNetworks(&device) }
        case .otherUplink(let uplink): send(.otherUplink(uplink), &device)
        case .command(let target, let confirmWithin, let confirmAfter):
            startCommand(target, confirmWithin: confirmWithin, confirmAfter: confirmAfter, &device)
        case .confirmation: if let command { send(.confirmed(id: command.id), &device) }
        case .resumed:
            send(.resumed, &device)
            failDeferred(&device)
        }
    }

    private mutating func send(_ event: PolicyEvent, _ device: inout SimulatedDevice) {
        device.account.result.events += 1
        for action in policy.handle(event, at: Instant(milliseconds: device.now)) { perform(action, &device) }
    }

    private mutating func perform(_ action: PolicyAction, _ device: inout SimulatedDevice) {
        switch action {
        case .join(let target): join(target, &device)
        case .leave:
            device.leave(0)
            startDeferred(&device)
        // Not possible: these actions need a second station.
        case .joinBeside, .useSuccessor, .leaveSuccessor: break
        case .scan(let order): beginScan(order, &device)
        case .cancelScan:
            failDeferred(&device)
            device.abortScan()
        case .watchSignal(let watch): device.watchSignal(watch, of: 0, isSampling: true)
        case .probe(let epoch, let limit): device.probe(epoch, over: 0, within: limit.milliseconds)
        // The simulated interface is always up.
        case .bringInterfaceUp: break
        case .record(let decision): device.account.record(decision, at: device.now)
        case .store(.switchEnded(let id, let isCommitted)):
            guard isCommitted, let command, command.id == id, stored.chosen?.ssid != command.target,
                let target = stored.backups.first(where: { $0.ssid == command.target })
            else { break }
            stored.chosen = target
            publishNetworks(&device)
        case .switchProgress(let id, let progress): switchProgressed(id, progress, &device)
        }
    }

    // MARK: Networks

    private mutating func start(_ device: inout SimulatedDevice) {
        if !isFirst { policy = makePolicy(settings) }
        isFirst = false
        let networks = publishNetworks(&device)
        for network in networks {
            guard let frequency = stored.statistics[network.ssid]?.lastFrequency else { continue }
            send(.remembered(network.id, frequency), &device)
        }
        for network in networks {
            for bssid in stored.statistics[network.ssid]?.verifiedAccessPoints ?? [] {
                send(.verified(network.id, bssid), &device)
            }
        }
        if let command {
            send(
                .interrupted(
                    id: command.id, target: id(of: command.target), cameFrom: command.cameFrom.flatMap { id(of: $0) }),
                &device)
        }
        send(.interface(isUp: true), &device)
        if device.otherUplink != nil { send(.otherUplink(device.otherUplink), &device) }
        guard device.supplicant.isRunning else { return }
        if let link = device.stations[0].link, let id = id(of: device.world.tracks[link.accessPoint].ssid) {
            let track = device.world.tracks[link.accessPoint]
            send(.linkFound(id, AccessPoint(bssid: track.bssid, frequency: track.frequency)), &device)
            send(.address(isReady: link.hasAddress), &device)
        }
        send(.supplicant(isAvailable: true), &device)
    }

    @discardableResult
    private mutating func publishNetworks(_ device: inout SimulatedDevice) -> [KnownNetwork] {
        let networks = registry.known(in: stored)
        device.preferred = stored.preferred.flatMap { device.world.network(named: $0.ssid) }
        send(.networks(networks), &device)
        return networks
    }

    private func id(of ssid: SSID) -> NetworkID? { registry.id(named: ssid) }

    // MARK: Joins and scans

    private mutating func join(_ target: LinkTarget, _ device: inout SimulatedDevice) {
        guard let network = registry[target.network], let index = device.world.network(named: network.ssid) else {
            return send(.joinFailed(epoch: target.epoch, .notFound), &device)
        }
        let order = SimulatedDevice.JoinOrder(
            attempt: target.epoch, network: index, isOpen: network.credential == .none, bssid: target.bssid,
            frequencies: target.frequencies)
        if !device.join(order, with: 0) { send(.joinFailed(epoch: target.epoch, .supplicantUnavailable), &device) }
    }

    private mutating func beginScan(_ order: ScanOrder, _ device: inout SimulatedDevice) {
        guard let number = device.scan(order.frequencies, calling: order.ssids) else {
            deferred = order
            return
        }
        scan = (number, order)
    }

    private mutating func startDeferred(_ device: inout SimulatedDevice) {
        guard device.isRadioFree, let order = deferred else { return }
        deferred = nil
        beginScan(order, &device)
    }

    private mutating func failDeferred(_ device: inout SimulatedDevice) {
        guard let order = deferred else { return }
        deferred = nil
        send(.scanFailed(id: order.id), &device)
    }

    private mutating func scanEnded(_ number: Int, isAborted: Bool, _ device: inout SimulatedDevice) {
        if let scan, scan.number == number {
            self.scan = nil
            send(isAborted ? .scanFailed(id: scan.order.id) : .scanned(id: scan.order.id, results(&device)), &device)
        }
        startDeferred(&device)
    }

    private mutating func results(_ device: inout SimulatedDevice) -> [BSS] {
        let results = device.scanResults()
        for bss in results { if let ssid = bss.ssid { stored.recordFrequency(bss.frequency, of: ssid) } }
        return results
    }

    // MARK: Commands

    private mutating func startCommand(
        _ target: Int, confirmWithin: Duration?, confirmAfter: Duration?, _ device: inout SimulatedDevice
    ) {
        let ssid = device.world.scenario.networks[target].ssid
        guard let network = id(of: ssid) else { return }
        commands += 1
        command = Command(
            id: commands, target: ssid,
            cameFrom: device.stations[0].link.map { device.world.scenario.networks[$0.network].ssid },
            confirmAfter: confirmAfter)
        send(.switchTo(network, id: commands, confirmWithin: confirmWithin), &device)
    }

    private mutating func switchProgressed(
        _ id: UInt64, _ progress: SwitchProgress, _ device: inout SimulatedDevice
    ) {
        switch progress {
        case .accepted, .joining, .waitingForAddress, .validating: break
        case .waitingForConfirmation:
            guard let command, command.id == id, let after = command.confirmAfter else { return }
            device.confirmAt = device.now + max(0, after.milliseconds)
        case .committed: device.account.result.committed += 1
        case .rolledBack: device.account.result.rolledBack += 1
        case .failed: device.account.result.failed += 1
        }
        guard progress.isFinal, command?.id == id else { return }
        command = nil
        device.confirmAt = .max
    }
}
