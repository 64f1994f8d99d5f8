import AgentModel
import AppProtocol
import AppServer
import Synchronization

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
        case .getNetwork: .network(Self.network)
        case .getBackups, .updateBackups: .backups(Self.backups)
        case .switchNetwork: .switchStatus(SwitchStatus(switchId: "s-1", phase: .accepted))
        case .getSwitch(let query), .confirmSwitch(let query):
            .switchStatus(SwitchStatus(switchId: query.switchId, phase: .committed))
        case .startScan: .scanStarted(ScanStarted(scanId: 5))
        case .getScan: .scan(ScanResults(isScanning: false, lastScanId: 5, networks: []))
        case .agreeKey: .key(Self.key)
        case .getDiagnosis: .diagnosis(Diagnosis(steps: []))
        case .getPortal, .answerPortal: .portal(PortalStatus())
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

/// Holds tasks up until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watchers) = state.withLock { state in
                defer { state.watchers = [] }
                if !state.isOpen { state.waiting.append(continuation) }
                return (state.isOpen, state.watchers)
            }
            if isOpen { continuation.resume() }
            for watcher in watchers { watcher.resume() }
        }
    }

    /// Returns once somebody waits.
    func isReached() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.waiting.isEmpty { state.watchers.append(continuation) }
                return !state.waiting.isEmpty
            }
            if isReached { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
