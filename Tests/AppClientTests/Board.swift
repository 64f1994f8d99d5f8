import AgentModel
import AppProtocol
import AppServer
import Synchronization

/// A device that keeps a list and moves between networks when the test says so.
final class Board: DeviceService {
    struct State {
        var list: [StoredNetwork] = []
        var revision = 1
        var network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [.canUpdateBackups, .canSwitch], signal: -50,
            since: Timestamp(millisecondsSince1970: 0))
        var switches: [String: SwitchStatus] = [:]
        var asked: [Request.Body] = []
        /// What the next requests of a type are answered instead.
        var refusals: [MessageType: [ErrorCode]] = [:]
        var capabilities = Capabilities(maxBackupNetworks: 3, deviceId: "board-1", firmware: "1", features: [])
    }

    struct StoredNetwork: Equatable {
        let ssid: SSID
        let hash: NetworkHash
        let password: Secret?
        let isHidden: Bool
    }

    let device: DeviceKey
    let hub: EventHub
    private let opener: SealOpener
    private let state = Mutex(State())
    /// Is told of every request before it is answered.
    private let hook: @Sendable (Request.Body) async -> Void

    init(
        _ device: DeviceKey, hub: EventHub = EventHub(),
        hook: @escaping @Sendable (Request.Body) async -> Void = { _ in }
    ) {
        self.device = device
        self.hub = hub
        self.hook = hook
        opener = SealOpener(device)
    }

    var network: NetworkStatus { state.withLock { $0.network } }
    var list: [StoredNetwork] { state.withLock { $0.list } }
    var asked: [Request.Body] { state.withLock { $0.asked } }

    func count(_ type: MessageType) -> Int { asked.count { $0.type == type } }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Brings the switch forward and tells it.
    func advance(_ switchId: String = "s-1", to phase: SwitchPhase, reason: ReasonCode? = nil) {
        let status = SwitchStatus(switchId: switchId, phase: phase, reason: reason)
        state.withLock { $0.switches[switchId] = status }
        hub.publish(.switchProgress(status))
    }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        let refusal = state.withLock { state -> ErrorCode? in
            state.asked.append(request)
            guard var codes = state.refusals[request.type], !codes.isEmpty else { return nil }
            defer { state.refusals[request.type] = codes }
            return codes.removeFirst()
        }
        await hook(request)
        if let refusal { throw ProtocolError(refusal, "as the test wants it") }
        switch request {
        case .getCapabilities: return .capabilities(state.withLock { $0.capabilities })
        case .getNetwork: return .network(state.withLock { $0.network })
        case .getBackups: return .backups(backups)
        case .updateBackups(let update): return .backups(try self.update(update))
        case .switchNetwork(let request):
            if case .new(let network) = request.target { _ = try password(of: network) }
            let status = SwitchStatus(switchId: "s-1", phase: .accepted)
            state.withLock { $0.switches["s-1"] = status }
            return .switchStatus(status)
        case .getSwitch(let query): return .switchStatus(try status(query.switchId))
        case .confirmSwitch(let query):
            guard try status(query.switchId).phase == .waitingForConfirmation else {
                throw ProtocolError(.notWaiting, "it does not wait")
            }
            advance(query.switchId, to: .committed)
            return .switchStatus(try status(query.switchId))
        case .startScan: return .scanStarted(ScanStarted(scanId: 7))
        case .getScan: return .scan(ScanResults(isScanning: false, lastScanId: 7, networks: []))
        case .agreeKey: return .key(try opener.key)
        case .getHistory: return .history(History(decisions: []))
        case .getDiagnosis: return .diagnosis(Self.diagnosis)
        case .getPortal: return .portal(PortalStatus())
        case .answerPortal: throw ProtocolError(.unknownPortal, "nobody is asked for anything")
        }
    }

    static let diagnosis = Diagnosis(steps: [Diagnosis.Step(layer: .radio, result: .good, found: "wlan0 is up")])

    private func status(_ switchId: String) throws(ProtocolError) -> SwitchStatus {
        guard let status = state.withLock({ $0.switches[switchId] }) else {
            throw ProtocolError(.unknownSwitch, "there was none")
        }
        return status
    }

    private var backups: BackupList {
        state.withLock { state in
            BackupList(
                max: state.capabilities.maxBackupNetworks, revision: state.revision,
                networks: state.list.map {
                    BackupNetwork(ssid: $0.ssid, hash: $0.hash, security: .wpa2, isHidden: $0.isHidden)
                })
        }
    }

    private func update(_ update: BackupsUpdate) throws(ProtocolError) -> BackupList {
        let (known, revision, max) = state.withLock { ($0.list, $0.revision, $0.capabilities.maxBackupNetworks) }
        guard update.ifRevision ?? revision == revision else {
            throw ProtocolError(.revisionConflict, "somebody else", details: ["revision": .number(revision)])
        }
        guard update.networks.count <= max else { throw ProtocolError(.tooManyNetworks, "the list is full") }
        var list: [StoredNetwork] = []
        for reference in update.networks {
            switch reference {
            case .stored(let hash):
                guard let network = known.first(where: { $0.hash == hash }) else {
                    throw ProtocolError(.unknownNetwork, "not in the list")
                }
                list.append(network)
            case .new(let network):
                let password = try password(of: network)
                let hash = NetworkHash(localKey: device.localKey, ssid: network.ssid, password: password)
                list.append(
                    StoredNetwork(ssid: network.ssid, hash: hash, password: password, isHidden: network.isHidden))
            }
        }
        state.withLock { state in
            state.list = list
            state.revision += 1
        }
        hub.publish(.backupsChanged(backups))
        return backups
    }

    private func password(of network: NewNetwork) throws(ProtocolError) -> Secret? {
        switch network.credential {
        case .none: nil
        case .password(let password): password
        case .sealed(let sealed): try opener.open(sealed, ssid: network.ssid)
        }
    }
}
