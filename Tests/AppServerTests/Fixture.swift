import AgentModel
import AppClient
import AppProtocol
import AppServer
import Synchronization
import Testing

/// Runs `body` against a server on a socket of its own.
func withServer<Value>(
    _ service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(), limits: AppServer.Limits = .init(),
    _ body: (_ path: String) async throws -> Value
) async throws -> Value {
    let folder = try SocketFolder()
    let server = AppServer(unix: UnixListenerSettings(path: folder.socket), service: service, hub: hub, limits: limits)
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
/// - Parameter clock: measures the server's limits of time; nil for the real one.
func withNetworkServer<Value>(
    _ service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(), limits: AppServer.LANLimits = .init(),
    clock: ManualClock? = nil, notices: Notices = Notices(),
    _ body: (_ server: AppServer, _ port: Int) async throws -> Value
) async throws -> Value {
    let folder = try SocketFolder()
    let server = AppServer(
        unix: UnixListenerSettings(path: folder.socket), lan: LANListenerSettings(port: 0, device: .sample),
        service: service, hub: hub, limits: AppServer.Limits(lan: limits), clock: clock ?? ContinuousClock(),
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

    /// Returns once a task waits.
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

/// The notices of a server about its connections.
final class Notices: Sendable {
    private struct State {
        var all: [AppServer.Notice] = []
        var waiting: [(isMeant: @Sendable (AppServer.Notice) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
            []
    }

    private let state = Mutex(State())

    var all: [AppServer.Notice] { state.withLock { $0.all } }

    func append(_ notice: AppServer.Notice) {
        let met = state.withLock { state in
            state.all.append(notice)
            let met = state.waiting.filter { $0.isMeant(notice) }.map(\.continuation)
            state.waiting.removeAll { $0.isMeant(notice) }
            return met
        }
        for continuation in met { continuation.resume() }
    }

    /// Returns once such a notice has come.
    func contain(_ isMeant: @escaping @Sendable (AppServer.Notice) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.all.contains(where: isMeant) { return true }
                state.waiting.append((isMeant, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Why connections did not get through their handshakes.
    var failures: [HandshakeFailure] {
        all.compactMap { if case .turnedAway(let turnedAway) = $0 { turnedAway.failure } else { nil } }
    }

    /// Why open connections were closed.
    var reasons: [AppServer.Reason] {
        all.compactMap { if case .dropped(_, let reason) = $0 { reason } else { nil } }
    }
}

/// A clock that stands still until it is moved.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var lastTicket = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(nap: Duration, count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// How many sleepers have this long to go.
        func sleepers(for nap: Duration) -> Int { sleepers.values.count { now.duration(to: $0.deadline) == nap } }
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .milliseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                update { state in
                    if Task.isCancelled {
                        return [{ continuation.resume(throwing: CancellationError()) }]
                    }
                    guard deadline > state.now else { return [{ continuation.resume() }] }
                    state.sleepers[ticket] = (deadline, continuation)
                    return []
                }
            }
        } onCancel: {
            update { state in
                guard let sleeper = state.sleepers.removeValue(forKey: ticket) else { return [] }
                return [{ sleeper.continuation.resume(throwing: CancellationError()) }]
            }
        }
    }

    func advance(by duration: Duration) {
        update { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for ticket in due.keys { state.sleepers[ticket] = nil }
            return due.values.map { sleeper in { sleeper.continuation.resume() } }
        }
    }

    /// Returns once so many sleep who have this long to go.
    func sleeps(for duration: Duration, by count: Int = 1) async {
        await withCheckedContinuation { continuation in
            update { state in
                state.watchers.append((duration, count, continuation))
                return []
            }
        }
    }

    /// Changes the state, then resumes whom that concerns.
    private func update(_ change: (inout State) -> [@Sendable () -> Void]) {
        let resumptions = state.withLock { state -> [@Sendable () -> Void] in
            var resumptions = change(&state)
            let met = state.watchers.map { state.sleepers(for: $0.nap) >= $0.count }
            for (watcher, isMet) in zip(state.watchers, met) where isMet {
                resumptions.append { watcher.continuation.resume() }
            }
            state.watchers = zip(state.watchers, met).filter { !$0.1 }.map(\.0)
            return resumptions
        }
        for resume in resumptions { resume() }
    }
}
