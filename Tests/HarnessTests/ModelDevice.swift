import AgentModel
import AppProtocol
import AppServer
import Foundation
import Synchronization

@testable import Harness

/// A device in memory that does what Docs/reference/protocol.md says, or all of it but one thing.
final class ModelDevice: DeviceService {
    struct Stored: Equatable {
        var ssid: SSID
        var password: Secret?
        var isHidden = false
        var address: StaticAddress?
        var options = NetworkOptions()
    }

    struct State {
        var maximum = 5
        var revision = 1
        var backups: [Stored] = []
        var home: Stored
        var current: Stored
        /// The preferred network, if it is not its home.
        var chosen: Stored?
        var linkState = LinkState.online
        var since = Timestamp.now
        /// The networks on the air, with their passwords.
        var air: [SSID: Secret]
        var switches: [String: SwitchStatus] = [:]
        var running: String?
        /// The uplink that carries the traffic; without Wi-Fi as that, the model has no interface for it either.
        var uplink = Uplink.wifi
        var name: DeviceName?
        var confirmed: Set<String> = []
        var isScanning = false
        var lastRequestedScan = 0
        var lastEndedScan: Int?
        var decisions = (1...3).map { ModelDevice.decision($0) }
        /// Of networks that were removed: only a device with a defect has any use for them.
        var removed: [Stored] = []
        var opened: [[UInt8]: Secret] = [:]
        var targets = ModelDevice.targets
        var providers = ["cafe", "hotel"].map { HotspotProvider(name: $0, isOn: true) }
    }

    static let key: DeviceKey = {
        guard let key = try? DeviceKey(deviceId: "model-1", localKey: Secret(text: "0123456789abcdef")) else {
            preconditionFailure("a key that is one")
        }
        return key
    }()

    static let certificate: DeviceCertificate = {
        guard let certificate = try? DeviceCertificate.random() else { preconditionFailure("no certificate") }
        return certificate
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
        case .getKeys, .revokeKey: .keys(AppKeyReport(keys: []))
        case .addKey, .claimKey: throw ProtocolError(.unsupported, "the model has no keys").about("type")
        case .agreeKey(let query): .key(try key(for: query, provedTo: peer))
        case .getDiagnosis: .diagnosis(diagnosis)
        case .getPortal: .portal(portal)
        case .answerPortal(let answer): .portal(try self.answer(answer))
        case .setName(let change): .network(set(change))
        case .getTargets: .targets(state.withLock { $0.targets })
        case .updateTargets(let update): .targets(try self.update(update))
        case .getProviders: .providers(state.withLock { providers($0) })
        case .setProvider(let change): .providers(try set(change))
        case .openRescue, .closeRescue, .stagePassword, .dropPassword, .getMetrics:
            throw ProtocolError(.unsupported, "the model has none").about("type")
        }
    }

    private func key(for query: SealingKeyQuery, provedTo peer: Peer) throws(ProtocolError) -> SealingKey {
        guard query.nonce == nil || peer.key != nil else {
            throw ProtocolError(.proofRequired, "a program has proved no key")
        }
        return try seals.key(for: query, of: Self.key.localKey)
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
            features: [
                "failover", "scan", "confirm", "joinOnce", "seal", "connectivity", "portal", "address", "enterprise",
                "options", "name", "targets", "providers",
            ])
    }

    private func set(_ change: DeviceNameChange) -> NetworkStatus {
        var status = state.withLock { state in
            if !has(.nameForgotten), !has(.nameStays) || change.name != nil { state.name = change.name }
            return self.status(state)
        }
        if !has(.nameUntold) { hub.publish(.networkChanged(status)) }
        if has(.nameForgotten) { status.deviceName = change.name }
        return status
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
        if has(.updateFlagMissing) { flags.remove(.canUpdateBackups) }
        var status = NetworkStatus(
            state: state.linkState, uplink: state.linkState == .online ? state.uplink : nil, flags: flags,
            ssid: state.current.ssid, bssid: BSSID("02:00:00:00:01:00"), signal: -52,
            frequency: Frequency(megahertz: 2412), hash: hash(of: state.current),
            addresses: state.linkState == .online ? ["192.0.2.23"] : [], since: state.since,
            connectivity: has(.connectivityUntold) ? nil : connectivity(state))
        status.deviceName = state.name
        return status
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

/// Runs `body` with the harness's view of a model device, over a Unix socket of its own.
func withModel<Value>(
    _ defect: Defect? = nil, meddling: Meddling? = nil, overNetwork: Bool = false, key: DeviceKey? = ModelDevice.key,
    prepare: (ModelDevice) throws -> Void = { _ in },
    _ body: (DeviceUnderTest, ModelDevice) async throws -> Value
) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("h\(UInt32.random(in: 0 ... .max))").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let hub = EventHub()
    let device = try ModelDevice(hub: hub, defect: defect)
    try prepare(device)
    let lan = LANListenerSettings(
        port: 0,
        credentials: AppCredentials(
            deviceId: ModelDevice.key.deviceId, certificate: ModelDevice.certificate,
            keys: OwnerKey(ModelDevice.key.localKey)))
    let server = AppServer(
        unix: UnixListenerSettings(path: folder + "/device"), lan: overNetwork ? lan : nil, service: device, hub: hub,
        limits: .brisk)
    try await server.start()
    var path = folder + "/device"
    var proxy: MeddlingProxy?
    if let meddling {
        path = folder + "/proxy"
        proxy = try await MeddlingProxy(at: path, before: folder + "/device", meddling)
    }
    let patience = Duration.seconds(meddling == .silent ? 1 : 10)
    let target =
        if overNetwork, let port = server.lanPort {
            DeviceUnderTest(
                host: "127.0.0.1", port: port, key: ModelDevice.key, patience: patience, switchTime: .seconds(8))
        } else {
            DeviceUnderTest(socket: path, key: key, patience: patience, switchTime: .seconds(8))
        }
    let result: Result<Value, any Error>
    do { result = .success(try await body(target, device)) } catch { result = .failure(error) }
    try await proxy?.stop()
    await server.stop()
    return try result.get()
}

extension AppServer.Limits {
    /// Those of a device in all but how long it makes others wait, for the harness waits as long.
    fileprivate static var brisk: Self {
        var lan = AppServer.LANLimits()
        lan.requests = AppServer.RequestRate(perSecond: 500, burst: 60)
        lan.requestsPerAddress = AppServer.RequestRate(perSecond: 1000, burst: 120)
        lan.wrongKeys.waits.first = .milliseconds(10)
        lan.wrongKeys.waits.last = .milliseconds(100)
        return Self(lingering: .milliseconds(200), lan: lan)
    }
}

/// The model's surroundings.
func bench(_ device: ModelDevice) throws -> Bench {
    Bench(
        networks: try ModelDevice.air.map { name, password in
            BenchNetwork(name: name, ssid: try SSID(name), password: Secret(text: password))
        }, accessPoints: ModelAir(device: device))
}

extension Report {
    var failures: [String] {
        results.compactMap { result in
            guard case .failed(let expected, let got, let exchange) = result.outcome else { return nil }
            return "\(result.id): expected \(expected), got \(got)\n" + exchange.suffix(8).joined(separator: "\n")
        }
    }

    func outcome(of id: String) -> CheckResult.Outcome? { results.first { $0.id == id }?.outcome }
}

func checks(_ ids: [String]) -> [Check] { Check.all.filter { ids.contains($0.id) } }

/// The networks around the model, as something that can be turned on and off.
struct ModelAir: AccessPointSwitch {
    let device: ModelDevice

    func names() async throws -> [String] { ModelDevice.air.map(\.0) }

    func turn(_ name: String, on isOn: Bool) async throws {
        guard let (_, password) = ModelDevice.air.first(where: { $0.0 == name }) else { return }
        try device.turn(SSID(name), Secret(text: password), on: isOn)
    }
}

extension ModelDevice {
    func turn(_ ssid: SSID, _ password: Secret, on isOn: Bool) {
        state.withLock { $0.air[ssid] = isOn ? password : nil }
        let isLost = state.withLock { !isOn && $0.current.ssid == ssid }
        if isLost, !has(.staysLost) { failOver() }
    }

    /// The network in use is gone: the first stored one that is on the air takes its place.
    private func failOver() {
        let next = state.withLock { state in
            ([state.home] + state.backups).first { $0.password != nil && state.air[$0.ssid] == $0.password }
        }
        guard let next else { return }
        let origin = state.withLock { $0.current }
        enter(next, .online)
        decide(from: origin, to: next)
    }
}

// How far the model's network leads, and the portal that stands in the way.
extension ModelDevice {
    static let targets = TargetList(
        source: .settings, required: .target,
        targets: [TargetSetting(name: "broker", url: "mqtts://mqtt.example.com:8883")])
    private static let ports = ["tcp": 80, "tls": 443, "http": 80, "https": 443, "mqtt": 1883, "mqtts": 8883]

    private var hotspot: Portal {
        Portal(
            url: "https://portal.example.net/", state: has(.providerTooEarly) ? .evaluating : .presentingUI,
            provider: "cafe")
    }

    private func connectivity(_ state: State) -> Connectivity {
        Connectivity(
            level: .lan, required: .target, internet: .captive, problem: .captive, portal: hotspot,
            targets: state.targets.targets.compactMap { status(of: $0, .waiting) },
            reachability: has(.flagAlone)
                ? .interventionRequired : [.reachable, .connectionRequired, .interventionRequired],
            checked: .now)
    }

    /// - Returns: nil for a target that cannot be.
    private func status(of target: TargetSetting, _ state: ConnectionState) -> TargetStatus? {
        let label = #"[A-Za-z0-9-]{1,63}"#
        let form = try? Regex<(Substring, Substring, Substring, Substring?)>(
            #"([a-z]+)://(\#(label)(?:\.\#(label))*|\[[0-9a-f:]+\])(?::([0-9]{1,5}))?"#)
        guard let form, let match = target.url.wholeMatch(of: form), let usual = Self.ports[String(match.1)] else {
            return nil
        }
        let port = match.3.map { Int($0) } ?? (has(.portForgotten) ? 8080 : usual)
        guard let port, (1...65_535).contains(port) else { return nil }
        return TargetStatus(
            name: target.name, host: String(match.2), port: port, state: state,
            reason: state == .waiting ? .captive : nil, since: .now)
    }

    private func update(_ update: TargetsUpdate) throws(ProtocolError) -> TargetList {
        var list = Self.targets
        if case .replace(let wanted) = update {
            for (index, target) in wanted.enumerated() {
                let isNew = !wanted[..<index].contains { $0.name == target.name }
                guard isNew && target.name.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil || has(.anyTargetNameTaken) else {
                    throw ProtocolError(.malformed, "not a name").about("body.targets[\(index)].name")
                }
                guard status(of: target, .setup) != nil || has(.anyHostTaken) else {
                    throw ProtocolError(.malformed, "not a server").about("body.targets[\(index)].url")
                }
            }
            list = TargetList(source: .app, required: .target, targets: wanted)
        }
        let before = state.withLock { state in
            defer { state.targets = list }
            return state.targets.targets
        }
        guard !has(.targetUntold) else { return list }
        let gone = before.filter { !list.targets.contains($0) }.compactMap { status(of: $0, .cancelled) }
        let new = list.targets.filter { !before.contains($0) }.compactMap { status(of: $0, .setup) }
        for target in gone + new { hub.publish(.targetChanged(target)) }
        return list
    }

    private func providers(_ state: State) -> HotspotProviders {
        HotspotProviders(providers: state.providers + (has(.providerTwice) ? state.providers : []))
    }

    private func set(_ change: ProviderSwitch) throws(ProtocolError) -> HotspotProviders {
        let isKnown = state.withLock { state in
            guard let index = state.providers.firstIndex(where: { $0.name == change.provider }) else { return false }
            if !has(.providerStaysOn) { state.providers[index].isOn = change.isOn }
            return true
        }
        guard isKnown || has(.anyProviderSwitched) else {
            throw ProtocolError(.malformed, "no provider has this name").about("body.provider")
        }
        return state.withLock { providers($0) }
    }

    var diagnosis: Diagnosis {
        let steps = Diagnosis.Layer.allCases.map { layer in
            layer < .internet
                ? Diagnosis.Step(layer: layer, result: .good, found: "it works")
                : Diagnosis.Step(layer: layer, result: .broken, found: "a portal answers", remedy: "Sign in.")
        }
        return Diagnosis(steps: has(.layersDisordered) ? steps.reversed() : steps)
    }

    var portal: PortalStatus {
        var request = PortalRequest(
            id: 4, provider: "cafe", network: NetworkName(ssid: state.withLock { $0.current.ssid }, hash: nil),
            title: "Sign in", message: "",
            fields: [PortalRequest.Field(name: "terms", label: "I accept", kind: .checkbox, isRequired: true)])
        if has(.portalNamesTwice) { request.fields += request.fields }
        if has(.portalTooLong) { request.fields[0].label = String(repeating: "a", count: 201) }
        if has(.requestOfAnother) { request.provider = "hotel" }
        if has(.requestWithoutWay) { request.fields = [] }
        var hotspot = hotspot
        if has(.portalElsewhere) { hotspot.state = .maintaining }
        return PortalStatus(portal: hotspot, request: has(.portalUntold) || has(.providerTooEarly) ? nil : request)
    }

    func answer(_ answer: PortalAnswer) throws(ProtocolError) -> PortalStatus {
        guard has(.anyPortalAnswered) || answer.id == portal.request?.id else {
            throw ProtocolError(.unknownPortal, "the request was answered or is no longer needed")
        }
        return portal
    }
}

extension Diagnosis.Layer {
    fileprivate static func < (left: Self, right: Self) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}
