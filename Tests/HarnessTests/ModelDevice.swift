import AgentModel
import AppProtocol
import AppServer
import Synchronization

/// A device in memory that does what Docs/protocol.md says, or all of it but one thing.
final class ModelDevice: DeviceService {
    struct Stored: Equatable {
        var ssid: SSID
        var password: Secret?
        var isHidden = false
    }

    struct State {
        var maximum = 5
        var revision = 1
        var backups: [Stored] = []
        var home: Stored
        var current: Stored
        /// Where the device belongs, where that is not its home.
        var chosen: Stored?
        var linkState = LinkState.online
        var since = Timestamp.now
        /// What is on the air, and with which password.
        var air: [SSID: Secret]
        var switches: [String: SwitchStatus] = [:]
        var running: String?
        /// What carries the traffic; without Wi-Fi as that, the model has no interface for it either.
        var uplink = Uplink.wifi
        var confirmed: Set<String> = []
        var isScanning = false
        var lastRequestedScan = 0
        var lastEndedScan: Int?
        var decisions = (1...3).map { ModelDevice.decision($0) }
        /// Of networks that were removed: only a device with a defect has any use for them.
        var removed: [Stored] = []
        var opened: [[UInt8]: Secret] = [:]
    }

    static let key: DeviceKey = {
        guard let key = try? DeviceKey(deviceId: "model-1", localKey: Secret(text: "0123456789abcdef")) else {
            preconditionFailure("a key that is one")
        }
        return key
    }()

    /// How long the model's radio takes for a scan or a step of a switch, and its clock for a second.
    static let beat = Duration.milliseconds(60)

    let hub: EventHub
    let defect: Defect?
    let seals = SealOpener(ModelDevice.key)
    let state: Mutex<State>

    /// - Parameter air: the networks around it with their passwords; the first is its home.
    init(hub: EventHub, defect: Defect? = nil, air: [(String, String)] = ModelDevice.air) throws {
        self.hub = hub
        self.defect = defect
        let networks = try air.map { Stored(ssid: try SSID($0), password: Secret(text: $1)) }
        guard let home = networks.first else { throw ProtocolError(.internalError, "a model needs a home") }
        let passwords = networks.compactMap { network in network.password.map { (network.ssid, $0) } }
        state = Mutex(
            State(home: home, current: home, air: Dictionary(passwords) { first, _ in first }))
    }

    static let air = [("HomeNet", "home password"), ("BackupNet", "backup password")]

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .getCapabilities: .capabilities(capabilities)
        case .getNetwork: .network(state.withLock { status($0) })
        case .getBackups: .backups(state.withLock { list($0) })
        case .updateBackups(let update): .backups(try self.update(update))
        case .switchNetwork(let request): .switchStatus(try begin(request))
        case .getSwitch(let query): .switchStatus(try switchStatus(query))
        case .confirmSwitch(let query): .switchStatus(try confirm(query))
        case .startScan: .scanStarted(try startScan())
        case .getScan: .scan(state.withLock { scanResults($0) })
        case .getHistory(let query): .history(history(query))
        case .agreeKey: .key(try seals.key)
        case .getDiagnosis: .diagnosis(diagnosis)
        case .getPortal: .portal(portal)
        case .answerPortal(let answer): .portal(try self.answer(answer))
        }
    }

    static func decision(_ number: Int, from origin: SSID? = nil, to target: SSID? = nil) -> Decision {
        Decision(
            seq: number, time: .now, monotonicMs: Int64(number), kind: Decision.Kind(rawValue: "join"),
            from: origin.map { NetworkName(ssid: $0, hash: nil) }, to: target.map { NetworkName(ssid: $0, hash: nil) },
            reason: ReasonCode(rawValue: "commanded"), text: "as was commanded")
    }

    private var capabilities: Capabilities {
        Capabilities(
            maxBackupNetworks: state.withLock { $0.maximum }, deviceId: Self.key.deviceId, firmware: "1.0",
            features: ["failover", "scan", "confirm", "joinOnce", "sealed", "connectivity", "portal"])
    }

    private func history(_ query: HistoryQuery) -> History {
        let decisions = state.withLock { $0.decisions }
        return History(decisions: has(.historyUnlimited) ? decisions : decisions.suffix(query.limit))
    }

    func has(_ defect: Defect) -> Bool { self.defect == defect }

    func status(_ state: State) -> NetworkStatus {
        var flags: NetworkFlags = .allowed(
            uplink: state.uplink, radioPresent: state.uplink == .wifi, switchInProgress: state.running != nil)
        if has(.flagMissing) { flags.remove(.switchInProgress) }
        return NetworkStatus(
            state: state.linkState, uplink: state.linkState == .online ? state.uplink : nil, flags: flags,
            ssid: state.current.ssid, bssid: BSSID("02:00:00:00:01:00"), signal: -52,
            frequency: Frequency(megahertz: 2412), hash: hash(of: state.current),
            addresses: state.linkState == .online ? ["192.0.2.23"] : [], since: state.since,
            connectivity: has(.connectivityUntold) ? nil : Self.connectivity)
    }

    // MARK: Scans

    private func startScan() throws(ProtocolError) -> ScanStarted {
        let id = try state.withLock { (state) throws(ProtocolError) -> Int in
            guard !state.isScanning || has(.scansAtOnce) else {
                throw ProtocolError(.scanBusy, "a scan is running")
            }
            state.isScanning = true
            state.lastRequestedScan += 1
            return state.lastRequestedScan
        }
        Task {
            try await Task.sleep(for: Self.beat * 4)
            let count = state.withLock { state in
                state.isScanning = false
                state.lastEndedScan = id
                return state.air.count
            }
            let told = has(.scanUnnumbered) ? id + 1 : id
            hub.publish(.scanFinished(ScanFinished(scanId: told, outcome: .finished, networks: count)))
        }
        return ScanStarted(scanId: id)
    }

    private func scanResults(_ state: State) -> ScanResults {
        let signals = has(.weakestFirst) ? [-80, -50] : [-50, -80]
        let networks = zip(state.air.keys, signals).enumerated().compactMap { number, network -> ScannedNetwork? in
            guard let bssid = BSSID("02:00:00:00:0\(number):00") else { return nil }
            return ScannedNetwork(
                bssid: bssid, ssid: network.0, frequency: Frequency(megahertz: 2412), signal: network.1,
                security: .wpa2, ageMs: 12)
        }
        return ScanResults(isScanning: state.isScanning, lastScanId: state.lastEndedScan, networks: networks)
    }
}
