import AgentModel
import AppProtocol

/// A long-lived session with a device. Connects when needed, and reconnects after a loss.
///
/// - Queries are sent once more if the answer is lost.
/// - Commands use a connection on which the device has just answered. If the answer is lost, the session asks for the
///   result.
/// - Events continue at their last position. A gap replaces events that the device no longer has.
///
/// The connection closes when neither the session nor one of its event streams is referenced.
public actor DeviceSession {
    let settings: Settings
    private let resolve: @Sendable () async -> [Endpoint]
    private(set) var client: DeviceClient?
    private var awaitingConnection: [AsyncStream<Result<DeviceClient, ClientError>>.Continuation] = []
    private(set) var isClosed = false
    var feed = EventSubscribers()

    /// Time limits of a session.
    public struct Settings: Sendable {
        /// Longest duration of a call, connecting included.
        public var timeout: Duration = .seconds(10)
        /// Longest duration of one connection attempt.
        public var attempt: Duration = .seconds(6)
        /// Longest wait for an answer before the connection counts as dead.
        public var silence: Duration = .seconds(3)
        /// Polling interval during a switch, in addition to events.
        public var watch: Duration = .seconds(2)
        /// Pauses between connection attempts, each reduced by up to half at random.
        public var pauses = BackOff(first: .milliseconds(200), last: .seconds(5))
        /// Clock of all time limits. Tests replace it.
        public var clock: any Clock<Duration> = ContinuousClock()

        public init() {}
    }

    /// - Parameter resolve: returns all possible addresses of the device. Called before each connection attempt, which
    ///   tries the addresses in parallel.
    public init(settings: Settings = Settings(), resolve: @escaping @Sendable () async -> [Endpoint]) {
        self.init(nil, settings, resolve)
    }

    public init(_ endpoint: Endpoint, settings: Settings = Settings()) {
        self.init(settings: settings) { [endpoint] }
    }

    /// Takes over an existing connection.
    init(adopting client: DeviceClient) {
        var settings = Settings()
        // A longer timeout means that the device is slow. Wait as long before the connection counts as dead.
        if client.timeout > settings.timeout { settings.silence = client.timeout }
        settings.timeout = client.timeout
        self.init(client, settings) { [client.endpoint] }
    }

    private init(_ client: DeviceClient?, _ settings: Settings, _ resolve: @escaping @Sendable () async -> [Endpoint]) {
        self.client = client
        self.settings = settings
        self.resolve = resolve
    }

    deinit { feed.end() }

    /// Whether a connection is open. The loss of a silent device is detected after about 30 seconds.
    public var isConnected: Bool { client?.isConnected ?? false }

    /// Closes the session and ends its event streams. Later calls fail with `cancelled`.
    public func close() async {
        isClosed = true
        feed.end()
        let client = client
        self.client = nil
        await client?.close()
    }

    /// Asks the device, and asks again if the connection is lost. The question must be safe to repeat.
    public func ask<Answer: Sendable>(
        _ question: @Sendable (DeviceClient) async throws(ClientError) -> Answer
    ) async throws(ClientError) -> Answer {
        var client = try await connected()
        client.timeout = min(settings.silence, settings.timeout)
        do {
            return try await question(client)
        } catch {
            guard error.isLoss else { throw error }
            lose(client)
        }
        return try await question(connected())
    }

    /// Returns a connection on which the device has just answered, for commands that must not be repeated.
    func proven() async throws(ClientError) -> DeviceClient {
        if let client, client.isHeard(within: settings.silence) { return client }
        var client = try await ask { client throws(ClientError) in
            _ = try await client.network()
            return client
        }
        client.timeout = settings.timeout
        return client
    }
}

// MARK: Connecting

extension DeviceSession {
    /// Returns the open connection or a new one. Retries with growing pauses until `timeout` or a permanent error.
    func connected() async throws(ClientError) -> DeviceClient {
        let deadline = Deadline(in: settings.timeout, on: settings.clock)
        var attempts = 0
        while true {
            guard !isClosed else { throw .cancelled }
            if let client, client.isConnected { return client }
            do {
                return try await attempt()
            } catch {
                let pause = settings.pauses.pause(&attempts)
                guard error.mayPass, pause < deadline.remaining else { throw error }
                try await sleep(pause)
            }
        }
    }

    func lose(_ lost: DeviceClient) {
        lost.abandon()
        if let client, client.isSame(as: lost) { self.client = nil }
    }

    func sleep(_ pause: Duration) async throws(ClientError) {
        do {
            try await settings.clock.sleep(for: pause, tolerance: nil)
        } catch {
            throw .cancelled
        }
    }

    /// Makes one connection attempt, shared by all waiting callers.
    private func attempt() async throws(ClientError) -> DeviceClient {
        let (results, continuation) = AsyncStream.makeStream(of: Result<DeviceClient, ClientError>.self)
        awaitingConnection.append(continuation)
        if awaitingConnection.count == 1 {
            Task { attempted(await Self.dial(await resolve(), settings)) }
        }
        for await result in results { return try result.get() }
        throw .cancelled
    }

    private func attempted(_ result: Result<DeviceClient, ClientError>) {
        let result = isClosed ? .failure(.cancelled) : result
        if case .success(let client) = result { self.client = client }
        for continuation in awaitingConnection {
            continuation.yield(result)
            continuation.finish()
        }
        awaitingConnection = []
    }

    private static func dial(_ endpoints: [Endpoint], _ settings: Settings) async -> Result<DeviceClient, ClientError> {
        await withTaskGroup(of: Result<DeviceClient, ClientError>.self) { group in
            for endpoint in endpoints {
                group.addTask {
                    await Result { () async throws(ClientError) in
                        var client = try await DeviceClient(connectingTo: endpoint, timeout: settings.attempt)
                        client.timeout = settings.timeout
                        return client
                    }
                }
            }
            defer { group.cancelAll() }
            var failure = ClientError.notFound
            for await result in group {
                switch result {
                case .success: return result
                case .failure(let error): failure = error
                }
            }
            return .failure(failure)
        }
    }
}

extension ClientError {
    /// Whether the answer was lost. The device may have carried out the request.
    var isLoss: Bool { self == .disconnected || self == .timedOut }

    /// Whether another host may have answered at the device's address.
    var isOfAnotherHost: Bool {
        switch self {
        case .notADevice, .notTheDevice, .certificateChanged: true
        default: false
        }
    }

    /// Whether a later attempt can succeed without a change.
    var mayPass: Bool {
        switch self {
        case .unreachable, .connectFailed, .unresolvable, .notFound, .turnedAway, .timedOut, .disconnected: true
        case .notPermitted, .keyRefused, .certificateChanged, .notTheDevice, .notADevice, .refused, .notUnderstood,
            .cancelled, .outcomeUnknown, .notSwitched, .accessPointNotJoined:
            false
        }
    }
}

extension BackOff {
    /// Returns the next pause and counts the attempt.
    func pause(_ attempts: inout Int) -> Duration {
        var generator = SystemRandomNumberGenerator()
        defer { attempts += 1 }
        return wait(after: attempts, atLeast: 0.5, using: &generator)
    }
}

extension DeviceSession {
    /// Replaces the stored list of networks. If the answer is lost, sends the list once more. With a revision, the
    /// second update conflicts if the first one arrived. Then the stored list is compared with the sent one.
    /// - Parameters:
    ///   - revision: revision that the stored list must have; nil to replace a list of any revision.
    ///   - addressing: new address configuration of stored networks, by hash.
    ///   - options: changes of the options of stored networks, by hash.
    public func updateBackups(
        _ networks: [NetworkReference], ifRevision revision: Int? = nil, addressing: [NetworkHash: Addressing] = [:],
        options: [NetworkHash: NetworkOptions.Change] = [:], home: HomeUpdate? = nil
    ) async throws(ClientError) -> BackupList {
        let client = try await proven()
        do {
            return try await client.updateBackups(
                networks, ifRevision: revision, addressing: addressing, options: options, home: home)
        } catch {
            guard error.isLoss else { throw error }
            lose(client)
        }
        do {
            return try await connected().updateBackups(
                networks, ifRevision: revision, addressing: addressing, options: options, home: home)
        } catch {
            guard home == nil, case .refused(let refusal) = error, refusal.code == .revisionConflict,
                let sent = networks.hashes(at: client.endpoint)
            else { throw error }
            let stored = try await ask { client throws(ClientError) in try await client.backups() }
            guard Set(stored.networks.map(\.hash)) == sent,
                stored.networks.allSatisfy({ addressing[$0.hash].map(\.address) ?? $0.address == $0.address }),
                stored.networks.allSatisfy({ $0.options.changed(by: options[$0.hash] ?? .init()) == $0.options }),
                networks.allSatisfy({ reference in
                    guard case .new(let network) = reference else { return true }
                    return stored.networks.contains {
                        $0.ssid == network.ssid && $0.address == network.address && $0.options == network.options
                    }
                })
            else { throw error }
            return stored
        }
    }

    /// Checks every layer, which takes up to 15 seconds. Uses a separate connection, because answers arrive in order
    /// and other requests would time out.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        let client = try await DeviceClient(connectingTo: proven().endpoint, timeout: settings.timeout)
        let diagnosis = await Result { () async throws(ClientError) in try await client.diagnose() }
        await client.close()
        return try diagnosis.get()
    }

    /// Scans and waits for the results.
    /// - Parameter limit: longest duration of the scan.
    public func scan(_ request: ScanRequest = ScanRequest(), within limit: Duration = .seconds(30))
        async throws(ClientError) -> (finished: ScanFinished, results: ScanResults)
    {
        let events = try await events()
        let scanId = try await ask { client throws(ClientError) in try await client.startScan(request) }.scanId
        let finished = try await within(limit, on: settings.clock) { [self] () async throws(ClientError) in
            try await end(of: scanId, in: events)
        }
        return (finished, try await scanResults())
    }

    private func end(of scanId: Int, in events: EventStream) async throws(ClientError) -> ScanFinished {
        for try await event in events {
            switch event.body {
            case .scanFinished(let finished) where finished.scanId == scanId: return finished
            case .gap:
                let results = try await scanResults()
                guard results.lastScanId == scanId else { continue }
                return ScanFinished(scanId: scanId, outcome: .finished, networks: results.networks.count)
            default: continue
            }
        }
        throw .cancelled
    }

    private func scanResults() async throws(ClientError) -> ScanResults {
        try await ask { client throws(ClientError) in try await client.scanResults() }
    }
}

extension [NetworkReference] {
    /// Returns the hashes of these networks on this device; nil if a hash cannot be computed.
    fileprivate func hashes(at endpoint: Endpoint) -> Set<NetworkHash>? {
        guard let device = endpoint.device else { return nil }
        let hashes = compactMap { reference -> NetworkHash? in
            guard case .new(let network) = reference else {
                guard case .stored(let hash) = reference else { return nil }
                return hash
            }
            return switch network.credential {
            case .none: NetworkHash(localKey: device.localKey, ssid: network.ssid, password: nil)
            case .password(let password):
                NetworkHash(localKey: device.localKey, ssid: network.ssid, password: password)
            case .enterprise(let credential):
                NetworkHash(localKey: device.localKey, ssid: network.ssid, enterprise: credential)
            case .sealed, .sealedEnterprise: nil
            }
        }
        return hashes.count == count ? Set(hashes) : nil
    }
}

/// A deadline on a clock whose type is known only at run time.
struct Deadline: Sendable {
    private let left: @Sendable () -> Duration

    init<C: Clock<Duration>>(in limit: Duration, on clock: C) {
        let end = clock.now.advanced(by: limit)
        left = { clock.now.duration(to: end) }
    }

    var remaining: Duration { left() }
}

/// Runs `work`, and throws `timedOut` after `limit`.
func within<Value: Sendable>(
    _ limit: Duration, on clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws(ClientError) -> Value
) async throws(ClientError) -> Value {
    let result = await withTaskGroup(of: Result<Value, ClientError>.self) { group in
        group.addTask { await Result(catching: work) }
        group.addTask {
            do {
                try await clock.sleep(for: limit, tolerance: nil)
                return .failure(.timedOut)
            } catch {
                return .failure(.cancelled)
            }
        }
        defer { group.cancelAll() }
        return await group.next() ?? .failure(.cancelled)
    }
    return try result.get()
}

extension Result {
    init(catching work: () async throws(Failure) -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
