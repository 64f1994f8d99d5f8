import AgentModel
import AppProtocol

/// A device that is talked to for long: over one connection at a time, which is made when it is needed and made anew
/// when it has ended or gone silent.
///
/// - Questions are asked once more, over a new connection, where the answer did not come.
/// - A command is sent over a connection that has just proven to be alive. Where its answer is lost nevertheless, the
///   device is asked what became of it.
/// - Events carry on where they stopped; what the device no longer has is told as a gap.
///
/// It ends with its last reader: once neither the session nor one of its event streams is held, the connection closes.
public actor DeviceSession {
    let settings: Settings
    private let resolve: @Sendable () async -> [Endpoint]
    private(set) var client: DeviceClient?
    private var awaitingConnection: [AsyncStream<Result<DeviceClient, ClientError>>.Continuation] = []
    private(set) var isClosed = false
    var feed = EventFeed()

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

    /// - Parameter resolve: where the device may be now, asked before each attempt to connect; all are tried at once.
    ///   After a switch it is in another network, under the same name or at another address. It should answer at once,
    ///   with what is known by then.
    public init(settings: Settings = Settings(), resolve: @escaping @Sendable () async -> [Endpoint]) {
        self.init(nil, settings, resolve)
    }

    public init(_ endpoint: Endpoint, settings: Settings = Settings()) {
        self.init(settings: settings) { [endpoint] }
    }

    /// Goes on with a connection that there is already.
    init(adopting client: DeviceClient) {
        var settings = Settings()
        // Whoever gives a device more time than usual to answer knows that it is slow, and not gone.
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

    /// Ends the connection and every event stream. Whatever is called afterwards fails with `cancelled`.
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
    /// Whether the device was not heard of any more: what it was asked may have been done or not.
    var isLoss: Bool { self == .disconnected || self == .timedOut }

    /// Whether connecting can succeed later, with nobody having done anything about it.
    fileprivate var mayPass: Bool {
        switch self {
        case .unreachable, .connectFailed, .unresolvable, .notFound, .turnedAway, .timedOut, .disconnected: true
        case .notPermitted, .keyRefused, .notADevice, .refused, .notUnderstood, .cancelled, .outcomeUnknown,
            .notSwitched:
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
