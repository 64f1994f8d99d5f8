import AgentModel
import AppProtocol
import AppServer
import TestTime

/// A device that keeps a list, as the real one does, and otherwise answers what the test prepared.
final class ScriptedDevice: DeviceService {
    struct State {
        var backups: BackupList
        var network: NetworkStatus
        var scan: ScanResults
        var history: History
        var diagnosis = Diagnosis(steps: [])
        var portal = PortalStatus()
        /// How an answer to it ends.
        var portalRefusal: ProtocolError?
        var targets = ScriptedDevice.setTargets
        var targetRefusal: ProtocolError?
        var metrics = Sample.metrics
        var setupAccessPoint = (try? SSID("altnet-h-01")).map { SetupAccessPointStatus(isOpen: false, ssid: $0) }
        var providers = HotspotProviders(providers: [
            HotspotProvider(name: "click-through", isOn: true), HotspotProvider(name: "hotel", isOn: false),
        ])
        /// The phases of a switch, once it is accepted.
        var phases: [SwitchStatus] = []
        /// How a switch stands once it is confirmed.
        var confirmedPhase = SwitchPhase.committed
        var confirmedText: String? = "the device is on Attic"
        /// The next requests fail with these, in order.
        var errors: [ProtocolError] = []
        var features = ["address", "home", "enterprise", "keys", "options"]
        var keys = AppKeyReport(keys: [AppKeyStatus(name: .owner, role: .manage, sessions: 1)])
        var scanOutcome = ScanFinished.Outcome.finished
        /// With passwords as they were before they were sealed.
        var asked: [Request.Body] = []
    }

    let hub = EventHub()
    private let opener: SealOpener
    private let state: Observed<State>

    init(_ change: (inout State) throws -> Void = { _ in }) throws {
        var state = State(
            backups: BackupList(
                max: 3, revision: 7, networks: [try Sample.backup("BackupNet"), try Sample.backup("Attic")]),
            network: try Sample.network(), scan: try Sample.scan(), history: try Sample.history())
        try change(&state)
        opener = SealOpener(try Sample.device())
        self.state = Observed(state)
    }

    var asked: [Request.Body] { state.value.asked }

    /// Returns once the device was asked this.
    func isAsked(_ request: Request.Body) async throws {
        try await state.wait("\(request.type.rawValue) is asked") { $0.asked.contains(request) }
    }

    static let setTargets = TargetList(
        source: .settings, required: .target,
        targets: [TargetSetting(name: "broker", url: "mqtts://mqtt.example.com:8883")])

    /// The commands that it got, without the questions in between.
    var commands: [Request.Body] { asked.filter(\.type.isCommand) }
    var network: NetworkStatus {
        get { state.value.network }
        set { state.change { $0.network = newValue } }
    }
    var backups: BackupList { state.value.backups }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        let request = try unsealed(request)
        let result: Result<Response.Body, ProtocolError> = state.change { state in answer(request, &state) }
        return try result.get()
    }

    private func unsealed(_ request: Request.Body) throws(ProtocolError) -> Request.Body {
        switch request {
        case .updateBackups(let update):
            var networks: [NetworkReference] = []
            for network in update.networks {
                networks.append(try unsealed(network) { SealContext(of: $0, in: update) })
            }
            return .updateBackups(
                BackupsUpdate(
                    networks: networks, ifRevision: update.ifRevision, addressing: update.addressing,
                    options: update.options,
                    home: try update.home.map { home throws(ProtocolError) in
                        guard let network = home.network else { return home }
                        return .replace(
                            try unsealed(network) { SealContext(of: $0, in: update, isHome: true) })
                    }))
        case .stagePassword(let staging):
            guard
                case .new(let network) = try unsealed(
                    .new(staging.network), { SealContext(of: $0, in: staging) })
            else { return request }
            return .stagePassword(
                PasswordStaging(changeId: staging.changeId, network: network, keepFor: staging.keepFor))
        case .switchNetwork(let request):
            return .switchNetwork(
                SwitchRequest(
                    target: try unsealed(request.target) { SealContext(of: $0, in: request) },
                    confirmWithin: request.confirmWithin, joinOnce: request.joinOnce,
                    besideUplink: request.besideUplink))
        default: return request
        }
    }

    private func unsealed(
        _ reference: NetworkReference, _ context: (NewNetwork) -> SealContext
    ) throws(ProtocolError) -> NetworkReference {
        guard case .new(let network) = reference else { return reference }
        if case .sealedEnterprise(let box) = network.credential {
            return .new(network.with(.enterprise(try opener.open(box, in: context(network)))))
        }
        guard case .sealed(let box) = network.credential else { return reference }
        return .new(
            NewNetwork(
                ssid: network.ssid, password: try opener.open(box, in: context(network)), isHidden: network.isHidden,
                address: network.address))
    }

    private func answer(_ request: Request.Body, _ state: inout State) -> Result<Response.Body, ProtocolError> {
        state.asked.append(request)
        if request.type != .getBackups, let error = state.errors.first {
            state.errors.removeFirst()
            return .failure(error)
        }
        switch request {
        case .getCapabilities:
            return .success(
                .capabilities(
                    Capabilities(
                        maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: state.features)))
        case .getNetwork: return .success(.network(state.network))
        case .getBackups: return .success(.backups(state.backups))
        case .updateBackups(let update): return self.update(update, &state)
        case .switchNetwork:
            for phase in state.phases { hub.publish(.switchProgress(phase)) }
            return .success(.switchStatus(SwitchStatus(switchId: "s-1", phase: .accepted)))
        case .getSwitch(let query):
            return .success(
                .switchStatus(state.phases.last ?? SwitchStatus(switchId: query.switchId, phase: .joining)))
        case .confirmSwitch(let query):
            let status = SwitchStatus(
                switchId: query.switchId, phase: state.confirmedPhase, text: state.confirmedText)
            hub.publish(.switchProgress(status))
            return .success(.switchStatus(status))
        case .startScan:
            hub.publish(.scanFinished(ScanFinished(scanId: 3, outcome: state.scanOutcome, networks: 3)))
            return .success(.scanStarted(ScanStarted(scanId: 3)))
        case .getScan: return .success(.scan(state.scan))
        case .getHistory: return .success(.history(state.history))
        case .agreeKey(let query):
            return Result { () throws(ProtocolError) in .key(try opener.key(for: query, of: Sample.key)) }
        case .getKeys: return .success(.keys(state.keys))
        case .revokeKey(let query):
            state.keys.keys.removeAll { $0.name == query.name }
            return .success(.keys(state.keys))
        case .addKey(let request):
            let name = request.name ?? KeyName("invitation-1") ?? .owner
            let status = AppKeyStatus(
                name: name, role: request.role, state: request.claimWithin == nil ? .valid : .invited,
                claimableFor: request.claimWithin)
            state.keys.keys.append(status)
            return Result { () throws(ProtocolError) in
                let key = try DeviceKey(
                    deviceId: "bench-01", localKey: Secret(text: "fedcba9876543210"), name: name,
                    certificate: CertificateFingerprint(of: [1]))
                return .handout(
                    KeyHandout(key: status, code: PairingCode(key, isInvitation: request.claimWithin != nil)))
            }
        case .openRescue(let request):
            state.setupAccessPoint?.isOpen = true
            state.setupAccessPoint?.why = request.isButton ? "button" : "command"
            return answer(state.setupAccessPoint)
        case .closeRescue:
            state.setupAccessPoint?.isOpen = false
            state.setupAccessPoint?.why = nil
            return answer(state.setupAccessPoint)
        case .getMetrics: return .success(.metrics(state.metrics))
        case .stagePassword(let staging):
            state.backups = state.backups.staging(staging, .staged)
            return .success(.backups(state.backups))
        case .dropPassword(let query):
            guard let entry = state.backups.staged.first(where: { $0.changeId == query.changeId }) else {
                return .failure(ProtocolError(.unknownNetwork, "no password of this name is staged"))
            }
            let staging = PasswordStaging(
                changeId: entry.changeId, network: NewNetwork(ssid: entry.ssid, password: nil))
            state.backups = state.backups.staging(staging, .dropped)
            return .success(.backups(state.backups))
        case .claimKey: return .failure(ProtocolError(.notPermitted, "only an invitation can be claimed"))
        case .getDiagnosis: return .success(.diagnosis(state.diagnosis))
        case .getPortal: return .success(.portal(state.portal))
        case .answerPortal(let answer): return self.answer(answer, &state)
        case .getTargets: return .success(.targets(state.targets))
        case .updateTargets(let update):
            if let refusal = state.targetRefusal { return .failure(refusal) }
            switch update {
            case .replace(let targets):
                state.targets = TargetList(source: .app, required: .target, targets: targets)
            case .reset: state.targets = Self.setTargets
            }
            return .success(.targets(state.targets))
        case .getProviders: return .success(.providers(state.providers))
        case .setProvider(let change):
            for index in state.providers.providers.indices
            where state.providers.providers[index].name == change.provider {
                state.providers.providers[index].isOn = change.isOn
            }
            return .success(.providers(state.providers))
        case .setName(let change):
            state.network.deviceName = change.name
            return .success(.network(state.network))
        }
    }

    private func answer(_ rescue: SetupAccessPointStatus?) -> Result<Response.Body, ProtocolError> {
        rescue.map { .success(.rescue($0)) } ?? .failure(ProtocolError(.unsupported, "it has none"))
    }

    private func answer(
        _ answer: PortalAnswer, _ state: inout State
    ) -> Result<Response.Body, ProtocolError> {
        if let refusal = state.portalRefusal { return .failure(refusal) }
        guard answer.id == state.portal.request?.id else {
            return .failure(ProtocolError(.unknownPortal, "this is not asked for"))
        }
        state.portal.request = nil
        state.portal.portal?.state = answer.values == nil ? .inactive : .authenticating
        return .success(.portal(state.portal))
    }

    private func update(_ update: BackupsUpdate, _ state: inout State) -> Result<Response.Body, ProtocolError> {
        let old = state.backups
        if let revision = update.ifRevision, revision != old.revision {
            return .failure(ProtocolError(.revisionConflict, "the list has changed"))
        }
        guard update.networks.count <= old.max else {
            return .failure(
                ProtocolError(.tooManyNetworks, "the device stores 3 networks at most", details: ["max": 3]))
        }
        func backup(_ reference: NetworkReference) -> BackupNetwork? {
            switch reference {
            case .stored(let hash):
                (old.networks + [old.home, old.chosen].compactMap(\.self)).first { $0.hash == hash }.map { known in
                    BackupNetwork(
                        ssid: known.ssid, hash: hash, security: known.security, isHidden: known.isHidden,
                        lastSeen: known.lastSeen, lastSignal: known.lastSignal, lastFailure: known.lastFailure,
                        address: update.addressing[hash].map(\.address) ?? known.address,
                        options: known.options.changed(by: update.options[hash] ?? .init()))
                }
            case .new(let network):
                BackupNetwork(
                    ssid: network.ssid,
                    hash: NetworkHash(localKey: Sample.key, ssid: network.ssid, password: network.plainPassword),
                    security: network.credential == .none ? .open : .wpa2wpa3, isHidden: network.isHidden,
                    address: network.address, options: network.options)
            }
        }
        let networks = update.networks.compactMap(backup)
        state.backups = BackupList(
            max: old.max, revision: old.revision + 1, networks: networks,
            home: update.home.map { $0.network.flatMap(backup) } ?? old.home,
            chosen: update.home == nil ? old.chosen : nil)
        return .success(.backups(state.backups))
    }
}

/// Values that look like those of a real device, at a fixed time.
enum Sample {
    static let key = Secret(text: "0123456789abcdef")

    static func device() throws -> DeviceKey { try DeviceKey(deviceId: "bench-01", localKey: key) }

    static let certificate: DeviceCertificate = {
        guard let certificate = try? DeviceCertificate.random() else { preconditionFailure("no certificate") }
        return certificate
    }()

    static let now = Timestamp(millisecondsSince1970: 1_770_091_506_789)

    static func ago(_ seconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: now.millisecondsSince1970 - seconds * 1000)
    }

    static let metrics = MetricsReport([
        Metric(
            "altnet_connected_seconds", .counter, unit: "seconds", scale: 1000,
            "Time for which the device was connected as far as it has to be.", [.init(86_000_250)]),
        Metric(
            "altnet_outages", .counter, "Times that the device was not connected, by cause, that have ended.",
            [.init(["cause": "access_point"], 2), .init(["cause": "key"], 0)]),
    ])

    static func bssid(_ number: UInt8) -> BSSID? { BSSID(bytes: [2, 0, 0, 0, number, 0]) }

    static func backup(_ name: String, password: String = "hunter2hunter2") throws -> BackupNetwork {
        let ssid = try SSID(name)
        return BackupNetwork(
            ssid: ssid, hash: NetworkHash(localKey: key, ssid: ssid, password: Secret(text: password)), security: .wpa2,
            isHidden: false, lastSeen: ago(300), lastSignal: -61, lastFailure: .wrongKey)
    }

    static func network() throws -> NetworkStatus {
        NetworkStatus(
            state: .online, uplink: .wifi, flags: [.canSwitch, .canUpdateBackups], ssid: try SSID("HomeNet"),
            bssid: bssid(1), signal: -52, frequency: Frequency(megahertz: 2412), addresses: ["192.168.10.23"],
            since: ago(200))
    }

    static func scan() throws -> ScanResults {
        func network(_ number: UInt8, _ ssid: SSID?, _ frequency: Int, _ signal: Int, _ security: Security) throws
            -> ScannedNetwork?
        {
            bssid(number).map {
                ScannedNetwork(
                    bssid: $0, ssid: ssid, frequency: Frequency(megahertz: frequency), signal: signal,
                    security: security, ageMs: 100)
            }
        }
        let networks = [
            try network(1, try SSID("HomeNet"), 2412, -52, .wpa2wpa3),
            try network(2, try SSID("BackupNet"), 5180, -71, .wpa3),
            try network(3, nil, 2437, -80, .wpa2), try network(4, try SSID("\u{1b}[2Jevil"), 2462, -90, .wep),
        ]
        return ScanResults(isScanning: false, lastScanId: 3, networks: networks.compactMap(\.self))
    }

    static func history() throws -> History {
        let home = NetworkName(ssid: try SSID("HomeNet"), hash: nil)
        let backup = NetworkName(ssid: try SSID("BackupNet"), hash: nil)
        return History(decisions: [
            Decision(
                seq: 5, time: ago(90), monotonicMs: 184_220, kind: Decision.Kind(rawValue: "move"), from: home,
                to: backup,
                reason: ReasonCode(rawValue: "signalWeak"), text: "HomeNet faded to -81 dBm",
                candidates: [
                    .init(
                        ssid: backup.ssid, bssid: bssid(2), signal: -48, frequency: Frequency(megahertz: 2437),
                        verdict: ReasonCode(rawValue: "chosen")),
                    .init(
                        ssid: try SSID("Attic"), bssid: nil, signal: nil, frequency: nil,
                        verdict: ReasonCode(rawValue: "notInRange")),
                ])
        ])
    }
}

extension NewNetwork {
    fileprivate var plainPassword: Secret? {
        if case .password(let password) = credential { password } else { nil }
    }
}

extension BackupList {
    fileprivate func staging(_ staging: PasswordStaging, _ phase: StagedPasswordStatus.Phase) -> BackupList {
        let entry = StagedPasswordStatus(
            changeId: staging.changeId, ssid: staging.network.ssid, phase: phase,
            since: Timestamp(millisecondsSince1970: 1_770_091_506_789))
        return BackupList(
            max: max, revision: revision, networks: networks, home: home, chosen: chosen,
            staged: staged.filter { $0.changeId != entry.changeId } + [entry])
    }
}
