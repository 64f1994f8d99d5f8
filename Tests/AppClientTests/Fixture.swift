import AgentModel
import AppClient
import AppProtocol
import AppServer
import Foundation
import TestTime
import Testing

/// A device that keeps a list and moves between networks when the test says so.
final class Board: DeviceService {
    struct State {
        var list: [StoredNetwork] = []
        var staged: [StagedPasswordStatus] = []
        var stagedPasswords: [String: Secret] = [:]
        var revision = 1
        var network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [.canUpdateBackups, .canSwitch], signal: -50,
            since: Timestamp(millisecondsSince1970: 0))
        var switches: [String: SwitchStatus] = [:]
        var asked: [Request.Body] = []
        /// The answers to the next requests of a type.
        var refusals: [MessageType: [ErrorCode]] = [:]
        var capabilities = Capabilities(maxBackupNetworks: 3, deviceId: "board-1", firmware: "1", features: [])
    }

    struct StoredNetwork: Equatable {
        let ssid: SSID
        let hash: NetworkHash
        let password: Secret?
        let isHidden: Bool
        var address: StaticAddress?
        var options = NetworkOptions()
    }

    let device: DeviceKey
    let hub: EventHub
    private let opener: SealOpener
    private let state = Observed(State())
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

    var network: NetworkStatus { state.change { $0.network } }
    var list: [StoredNetwork] { state.change { $0.list } }
    var asked: [Request.Body] { state.change { $0.asked } }

    func count(_ type: MessageType) -> Int { asked.count { $0.type == type } }

    /// Returns once there have been so many requests of this type.
    func isAsked(_ type: MessageType, times: Int = 1) async throws {
        try await state.wait("\(type.rawValue), \(times) times") { $0.asked.count { $0.type == type } >= times }
    }

    func set(_ change: (inout State) -> Void) { state.change { change(&$0) } }

    /// Brings the switch forward and tells it.
    func advance(_ switchId: String = "s-1", to phase: SwitchPhase, reason: ReasonCode? = nil) {
        let status = SwitchStatus(switchId: switchId, phase: phase, reason: reason)
        state.change { $0.switches[switchId] = status }
        hub.publish(.switchProgress(status))
    }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        let refusal = state.change { state -> ErrorCode? in
            state.asked.append(request)
            guard var codes = state.refusals[request.type], !codes.isEmpty else { return nil }
            defer { state.refusals[request.type] = codes }
            return codes.removeFirst()
        }
        await hook(request)
        if let refusal { throw ProtocolError(refusal, "as the test wants it") }
        switch request {
        case .getCapabilities: return .capabilities(state.change { $0.capabilities })
        case .getNetwork: return .network(state.change { $0.network })
        case .getBackups: return .backups(backups)
        case .updateBackups(let update): return .backups(try self.update(update))
        case .switchNetwork(let request):
            if case .new(let network) = request.target {
                _ = try password(of: network, in: SealContext(of: network, in: request))
            }
            let status = SwitchStatus(switchId: "s-1", phase: .accepted)
            state.change { $0.switches["s-1"] = status }
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
        case .agreeKey(let query): return .key(try opener.key(for: query, of: device.localKey))
        case .getKeys, .revokeKey: return .keys(AppKeyReport(keys: []))
        case .stagePassword(let staging):
            let password = try password(of: staging.network, in: SealContext(of: staging.network, in: staging))
            publish(staging.changeId, of: staging.network.ssid, .staged, password)
            return .backups(backups)
        case .dropPassword(let query):
            guard let entry = state.change({ $0.staged.first { $0.changeId == query.changeId } }) else {
                throw ProtocolError(.unknownNetwork, "no password of this name is staged")
            }
            publish(entry.changeId, of: entry.ssid, .dropped)
            return .backups(backups)
        case .addKey, .claimKey, .openRescue, .closeRescue, .getMetrics:
            throw ProtocolError(.unsupported, "the board has no keys")
        case .getHistory: return .history(History(decisions: []))
        case .getDiagnosis: return .diagnosis(Self.diagnosis)
        case .getPortal: return .portal(PortalStatus())
        case .answerPortal: throw ProtocolError(.unknownPortal, "the device asks for nothing now")
        case .getTargets, .updateTargets(.reset):
            return .targets(TargetList(source: .settings, required: .lan, targets: []))
        case .updateTargets(.replace(let targets)):
            return .targets(TargetList(source: .app, required: .target, targets: targets))
        case .setName(let change):
            var status = state.change { $0.network }
            status.deviceName = change.name
            return .network(status)
        case .getProviders: return .providers(HotspotProviders(providers: []))
        case .setProvider(let change):
            return .providers(
                HotspotProviders(providers: [HotspotProvider(name: change.provider, isOn: change.isOn)]))
        }
    }

    static let diagnosis = Diagnosis(steps: [Diagnosis.Step(layer: .radio, result: .good, found: "wlan0 is up")])

    private func status(_ switchId: String) throws(ProtocolError) -> SwitchStatus {
        guard let status = state.change({ $0.switches[switchId] }) else {
            throw ProtocolError(.unknownSwitch, "there was none")
        }
        return status
    }

    /// What becomes of a newer password.
    func publish(_ change: String, of ssid: SSID, _ phase: StagedPasswordStatus.Phase, _ password: Secret? = nil) {
        state.change { state in
            state.staged.removeAll { $0.changeId == change }
            state.staged.append(
                StagedPasswordStatus(
                    changeId: change, ssid: ssid, phase: phase, since: Timestamp(millisecondsSince1970: 0)))
            if let password { state.stagedPasswords[change] = password }
        }
        hub.publish(.backupsChanged(backups))
    }

    private var backups: BackupList {
        state.change { state in
            BackupList(
                max: state.capabilities.maxBackupNetworks, revision: state.revision,
                networks: state.list.map {
                    BackupNetwork(
                        ssid: $0.ssid, hash: $0.hash, security: .wpa2, isHidden: $0.isHidden, address: $0.address,
                        options: $0.options)
                }, staged: state.staged)
        }
    }

    private func update(_ update: BackupsUpdate) throws(ProtocolError) -> BackupList {
        let (known, revision, max) = state.change { ($0.list, $0.revision, $0.capabilities.maxBackupNetworks) }
        guard update.ifRevision ?? revision == revision else {
            throw ProtocolError(.revisionConflict, "another client", details: ["revision": .number(revision)])
        }
        guard update.networks.count <= max else { throw ProtocolError(.tooManyNetworks, "the list is full") }
        var list: [StoredNetwork] = []
        for reference in update.networks {
            switch reference {
            case .stored(let hash):
                guard var network = known.first(where: { $0.hash == hash }) else {
                    throw ProtocolError(.unknownNetwork, "not in the list")
                }
                if let said = update.addressing[hash] { network.address = said.address }
                network.options = network.options.changed(by: update.options[hash] ?? .init())
                list.append(network)
            case .new(let network):
                let password = try password(of: network, in: SealContext(of: network, in: update))
                let hash = NetworkHash(localKey: device.localKey, ssid: network.ssid, password: password)
                list.append(
                    StoredNetwork(
                        ssid: network.ssid, hash: hash, password: password, isHidden: network.isHidden,
                        address: network.address, options: network.options))
            }
        }
        state.change { state in
            state.list = list
            state.revision += 1
        }
        hub.publish(.backupsChanged(backups))
        return backups
    }

    private func password(of network: NewNetwork, in context: SealContext) throws(ProtocolError) -> Secret? {
        switch network.credential {
        case .none: nil
        case .password(let password): password
        case .sealed(let sealed): try opener.open(sealed, in: context)
        case .enterprise, .sealedEnterprise: throw ProtocolError(.unsupported, "no enterprise networks here")
        }
    }
}

/// A device, its server in the network, a relay in front of it, and what an app knows of it.
struct Fixture {
    let board: Board
    let relay: Relay
    let socket: String

    static let device: DeviceKey = {
        guard let key = try? DeviceKey(deviceId: "board-1", localKey: Secret(text: "0123456789abcdef")) else {
            preconditionFailure("the key for the tests is none")
        }
        return key
    }()

    var endpoint: Endpoint { .network(host: "127.0.0.1", port: relay.port, device: Self.device) }

    func manager(_ settings: DeviceSession.Settings = .quick) -> DeviceNetworkManager {
        DeviceNetworkManager(device: Self.device, host: "127.0.0.1", port: relay.port, settings: settings)
    }

    /// Runs `body`, and checks that no connection is left when it has ended.
    static func with(
        _ board: Board = Board(Fixture.device), isolation: isolated (any Actor)? = #isolation,
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "altnet-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.path + "/s"
        let server = AppServer(
            unix: UnixListenerSettings(path: socket), lan: LANListenerSettings(port: 0, credentials: .of(device)),
            service: board, hub: board.hub)
        try await server.start()
        let relay = try await Relay(to: try #require(server.lanPort))
        do {
            try await body(Fixture(board: board, relay: relay, socket: socket))
            try await relay.isEmpty()
        } catch {
            await relay.stop()
            await server.stop()
            throw error
        }
        await relay.stop()
        await server.stop()
    }
}

extension DeviceSession.Settings {
    /// For a network without distances, on a machine that may be busy: short where it is a matter of pauses only. What
    /// ends a call or a connection takes longer than a test waits.
    static var quick: Self {
        var settings = Self()
        settings.timeout = .seconds(60)
        settings.silence = .seconds(60)
        settings.attempt = .seconds(60)
        settings.watch = .milliseconds(40)
        settings.pauses = BackOff(first: .milliseconds(5), last: .milliseconds(50))
        return settings
    }

    /// For a device that says nothing any more.
    static var impatient: Self {
        var settings = Self.quick
        settings.silence = .seconds(2)
        return settings
    }
}

extension AppCredentials {
    /// Of a device that has the owner's key alone.
    static func of(_ device: DeviceKey) -> AppCredentials {
        AppCredentials(deviceId: device.deviceId, certificate: certificate, keys: OwnerKey(device.localKey))
    }

    /// One for all tests: making it takes long.
    static let certificate: DeviceCertificate = {
        guard let certificate = try? DeviceCertificate.random() else { preconditionFailure("no certificate") }
        return certificate
    }()
}
