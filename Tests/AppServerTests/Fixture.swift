import AgentModel
import AppClient
import AppProtocol
import AppServer
import Synchronization
import TestTime
import Testing

/// Runs `body` against a server on a socket of its own.
/// - Parameter clock: measures the server's limits of time.
func withServer<Value>(
    _ service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(), limits: AppServer.Limits = .init(),
    clock: any Clock<Duration> = ContinuousClock(), _ body: (_ path: String) async throws -> Value
) async throws -> Value {
    let folder = try SocketFolder()
    let server = AppServer(
        unix: UnixListenerSettings(path: folder.socket), service: service, hub: hub, limits: limits, clock: clock)
    try await server.start()
    do {
        let value = try await body(folder.socket)
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// Runs `body` against a server that the network reaches too.
/// - Parameter clock: measures the server's limits of time.
func withNetworkServer<Value>(
    _ service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(), limits: AppServer.LANLimits = .init(),
    clock: any Clock<Duration> = ContinuousClock(), notices: Notices = Notices(), credentials: AppCredentials = .sample,
    _ body: (_ server: AppServer, _ port: Int) async throws -> Value
) async throws -> Value {
    let folder = try SocketFolder()
    let server = AppServer(
        unix: UnixListenerSettings(path: folder.socket), lan: LANListenerSettings(port: 0, credentials: credentials),
        service: service, hub: hub, limits: AppServer.Limits(lan: limits), clock: clock,
        notify: notices.append)
    try await server.start()
    do {
        let value = try await body(server, try #require(server.lanPort))
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// Runs `body` with a client of such a server.
func withClient<Value>(
    of service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(),
    _ body: (DeviceClient) async throws -> Value
) async throws -> Value {
    try await withServer(service, hub: hub) { path in
        let client = try await DeviceClient(connectingTo: .unixSocket(path: path), timeout: .seconds(60))
        let value = try await body(client)
        await client.close()
        return value
    }
}

func request(_ type: MessageType, id: String = "a", body: String = "{}") -> String {
    #"{"v":1,"id":"\#(id)","type":"\#(type.rawValue)","body":\#(body)}"# + "\n"
}

/// An answer's id, and the code if it is an error.
func answer(_ line: String?) throws -> (id: String?, code: ErrorCode?) {
    guard let line, case .answer(let id, let failure) = try ServerLine(line: Array(line.utf8)) else {
        throw ProtocolError(.malformed, "no answer: \(line ?? "end")")
    }
    return (id, failure?.code)
}

/// Answers every request with a fixed value, and remembers what it was asked and by whom.
final class FakeDevice: DeviceService {
    struct Asked {
        var bodies: [Request.Body] = []
        var peers: [Peer] = []
    }

    private let asked = Mutex(Asked())
    private let gate: Gate?
    private let error: ProtocolError?

    /// - Parameters:
    ///   - gate: where given, a request is not answered before it opens.
    ///   - error: where given, every request fails with it.
    init(gate: Gate? = nil, error: ProtocolError? = nil) {
        self.gate = gate
        self.error = error
    }

    var bodies: [Request.Body] { asked.withLock { $0.bodies } }
    var peers: [Peer] { asked.withLock { $0.peers } }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        asked.withLock {
            $0.bodies.append(request)
            $0.peers.append(peer)
        }
        await gate?.pass()
        if let error { throw error }
        return switch request {
        case .getCapabilities: .capabilities(Self.capabilities)
        case .getNetwork, .setName: .network(Self.network)
        case .getBackups, .updateBackups: .backups(Self.backups)
        case .switchNetwork: .switchStatus(SwitchStatus(switchId: "s-1", phase: .accepted))
        case .getSwitch(let query), .confirmSwitch(let query):
            .switchStatus(SwitchStatus(switchId: query.switchId, phase: .committed))
        case .startScan: .scanStarted(ScanStarted(scanId: 5))
        case .getScan: .scan(ScanResults(isScanning: false, lastScanId: 5, networks: []))
        case .agreeKey: .key(Self.key)
        case .getDiagnosis: .diagnosis(Diagnosis(steps: []))
        case .getPortal, .answerPortal: .portal(PortalStatus())
        case .getTargets, .updateTargets: .targets(TargetList(source: .settings, required: .lan, targets: []))
        case .getProviders, .setProvider: .providers(HotspotProviders(providers: []))
        case .getKeys, .revokeKey: .keys(AppKeyReport(keys: []))
        case .addKey, .claimKey, .openRescue, .closeRescue, .stagePassword, .dropPassword, .getMetrics:
            throw ProtocolError(.unsupported, "a device for tests")
        case .getHistory(let query): .history(History(decisions: Array(repeating: Self.decision, count: query.limit)))
        }
    }

    static let capabilities = Capabilities(maxBackupNetworks: 3, deviceId: "d", firmware: "0", features: [])
    static let network = NetworkStatus(
        state: .offline, uplink: nil, flags: .canSwitch, since: Timestamp(millisecondsSince1970: 0))
    static let key = SealingKey(keyId: "k", publicKey: Array(1...32))!
    static let backups = BackupList(max: 3, revision: 1, networks: [])
    static let decision = Decision(
        seq: 1, time: Timestamp(millisecondsSince1970: 0), monotonicMs: 0, kind: Decision.Kind(rawValue: "stay"),
        from: nil, to: nil, reason: ReasonCode(rawValue: "good"), text: "the signal is good")
}

/// The notices of a server about its connections.
final class Notices: Sendable {
    private let state = Observed<[AppServer.Notice]>([])

    var all: [AppServer.Notice] { state.value }

    func append(_ notice: AppServer.Notice) { state.change { $0.append(notice) } }

    /// Returns once such a notice has come.
    func contain(_ isMeant: @escaping @Sendable (AppServer.Notice) -> Bool) async throws {
        try await state.wait("the notice has come") { $0.contains(where: isMeant) }
    }

    /// Why connections did not get through their handshakes.
    var failures: [HandshakeFailure] {
        all.compactMap { if case .rejected(let turnedAway) = $0 { turnedAway.failure } else { nil } }
    }

    /// Why open connections were closed.
    var reasons: [AppServer.Reason] {
        all.compactMap { if case .dropped(_, let reason) = $0 { reason } else { nil } }
    }
}
