import AgentModel
import AppProtocol

/// A device that is talked to for long: over one connection at a time, which is made when it is needed and made anew
/// when it has ended or gone silent.
///
/// - Questions are asked once more, over a new connection, where the answer did not come.
/// - A command is sent over a connection that has just proven to be alive. If its answer is lost nevertheless, the
///   device is asked what became of it.
/// - Events carry on where they stopped; events that the device no longer has come as a gap.
///
/// It ends with its last reader: once neither the session nor one of its event streams is held, the connection closes.
public actor DeviceSession {
    let settings: Settings
    private let resolve: @Sendable () async -> [Endpoint]
    private(set) var client: DeviceClient?
    private var awaitingConnection: [AsyncStream<Result<DeviceClient, ClientError>>.Continuation] = []
    private(set) var isClosed = false
    var feed = EventSubscribers()

    /// How long things may take.
    public struct Settings: Sendable {
        /// A call, with all that it takes to connect.
        public var timeout: Duration = .seconds(10)
        /// One attempt to connect.
        public var attempt: Duration = .seconds(6)
        /// How long the device may be silent after a question before the connection is taken for dead.
        public var silence: Duration = .seconds(3)
        /// How often the device is asked how far a switch has come, beside the events that tell it.
        public var watch: Duration = .seconds(2)
        /// The pauses between attempts to connect, each cut by up to half at random.
        public var pauses = BackOff(first: .milliseconds(200), last: .seconds(5))
        public var clock: any Clock<Duration> = ContinuousClock()

        public init() {}
    }

    /// - Parameter resolve: possible addresses of the device, called before each attempt to connect; all are tried at
    ///   once. After a switch it is in another network, under the same name or at another address. It should answer at
    ///   once, with what is known by then.
    public init(settings: Settings = Settings(), resolve: @escaping @Sendable () async -> [Endpoint]) {
        self.init(nil, settings, resolve)
    }

    public init(_ endpoint: Endpoint, settings: Settings = Settings()) {
        self.init(settings: settings) { [endpoint] }
    }

    /// Goes on with a connection that there is already.
    init(adopting client: DeviceClient) {
        var settings = Settings()
        // More time than usual to answer means that the device is slow, not gone.
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

    /// Whether there is a connection, as far as is known.
    public var isConnected: Bool { client?.isConnected ?? false }

    /// Ends the connection and every event stream. Every later call fails with `cancelled`.
    public func close() async {
        isClosed = true
        feed.end()
        let client = client
        self.client = nil
        await client?.close()
    }

    /// Asks the device something that changes nothing, once more where the connection was lost over it.
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

    /// A connection over which the device was heard just now, for what must not be sent twice.
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
    /// The connection there is, or a new one. Tries again, with growing pauses, until `timeout` is over, unless waiting
    /// does not help.
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

    /// Gives a connection up, so that the next call makes a new one.
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

    /// However many wait for a connection, one is made.
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
    /// Whether the device fell silent: it may have carried out the request or not.
    var isLoss: Bool { self == .disconnected || self == .timedOut }

    /// Whether connecting can succeed later without a change.
    fileprivate var mayPass: Bool {
        switch self {
        case .unreachable, .connectFailed, .unresolvable, .notFound, .turnedAway, .timedOut, .disconnected: true
        case .notPermitted, .keyRefused, .certificateChanged, .notTheDevice, .notADevice, .refused, .notUnderstood,
            .cancelled, .outcomeUnknown, .notSwitched, .accessPointNotJoined:
            false
        }
    }
}

extension BackOff {
    /// The pause after so many attempts, which is one more attempt.
    func pause(_ attempts: inout Int) -> Duration {
        var generator = SystemRandomNumberGenerator()
        defer { attempts += 1 }
        return wait(after: attempts, atLeast: 0.5, using: &generator)
    }
}

extension DeviceSession {
    /// Replaces the stored list as a whole, or leaves it as it is.
    ///
    /// If the answer was lost, the list is sent once more, which does no harm: to store the same list twice is to
    /// store it once. With a revision the second one is refused if the first one had arrived, and then the list tells
    /// whether it is the one that was sent.
    /// - Parameters:
    ///   - revision: the revision that the list must still have, or nil to replace it whatever it is.
    ///   - addressing: how the device gets its address in networks that are named by these hashes, as of
    ///     ``DeviceClient/updateBackups(_:ifRevision:addressing:home:)``.
    public func updateBackups(
        _ networks: [NetworkReference], ifRevision revision: Int? = nil, addressing: [NetworkHash: Addressing] = [:],
        home: HomeUpdate? = nil
    ) async throws(ClientError) -> BackupList {
        let client = try await proven()
        do {
            return try await client.updateBackups(
                networks, ifRevision: revision, addressing: addressing, home: home)
        } catch {
            guard error.isLoss else { throw error }
            lose(client)
        }
        do {
            return try await connected().updateBackups(
                networks, ifRevision: revision, addressing: addressing, home: home)
        } catch {
            guard home == nil, case .refused(let refusal) = error, refusal.code == .revisionConflict,
                let sent = networks.hashes(at: client.endpoint)
            else { throw error }
            let stored = try await ask { client throws(ClientError) in try await client.backups() }
            guard Set(stored.networks.map(\.hash)) == sent,
                stored.networks.allSatisfy({ addressing[$0.hash].map(\.address) ?? $0.address == $0.address }),
                networks.allSatisfy({ reference in
                    guard case .new(let network) = reference else { return true }
                    return stored.networks.contains { $0.ssid == network.ssid && $0.address == network.address }
                })
            else { throw error }
            return stored
        }
    }

    /// Has the device look at every layer, from the radio to its own servers: up to 15 seconds.
    ///
    /// Asks over a connection of its own: one connection's requests are answered in turn, and whatever else is asked
    /// meanwhile would seem to be lost.
    public func diagnose() async throws(ClientError) -> Diagnosis {
        let client = try await DeviceClient(connectingTo: proven().endpoint, timeout: settings.timeout)
        let diagnosis = await Result { () async throws(ClientError) in try await client.diagnose() }
        await client.close()
        return try diagnosis.get()
    }

    /// Scans and waits for the results.
    /// - Parameter limit: how long the scan may take.
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
    /// The names under which a device with this key lists these networks; nil where that is not known here.
    fileprivate func hashes(at endpoint: Endpoint) -> Set<NetworkHash>? {
        guard case .network(_, _, let device) = endpoint else { return nil }
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

/// A moment on a clock that is not known before the program runs.
struct Deadline: Sendable {
    private let left: @Sendable () -> Duration

    init<C: Clock<Duration>>(in limit: Duration, on clock: C) {
        let end = clock.now.advanced(by: limit)
        left = { clock.now.duration(to: end) }
    }

    /// Zero or less once it has passed.
    var remaining: Duration { left() }
}

/// Does `work`, and throws `timedOut` when it takes longer than that.
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
