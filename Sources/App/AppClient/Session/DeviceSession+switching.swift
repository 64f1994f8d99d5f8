import AppProtocol
import Synchronization

extension DeviceSession {
    /// Switches and waits for the outcome. Reconnects as needed, because the device leaves its network.
    /// - Parameters:
    ///   - confirmWithin: seconds from the join until the device rolls back without confirmation, 5 to 600; nil for
    ///     never.
    ///   - confirms: whether this session confirms once the device answers over the new network. Otherwise another
    ///     client must confirm.
    ///   - joinOnce: whether the device forgets the network when it leaves it or restarts.
    ///   - besideUplink: whether to switch Wi-Fi even if another uplink carries the traffic.
    ///   - limit: longest duration, rollback included; nil for two minutes plus `confirmWithin`.
    ///   - onProgress: called once for each phase, in order, the outcome included.
    /// - Returns: the outcome: `committed`, `rolledBack` or `failed`.
    /// - Throws: `timedOut` if the switch still runs after `limit`; `outcomeUnknown` if the device stopped answering,
    ///   or if a broker may still deliver the command; `disconnected` if the switch has not begun.
    public func switchNetwork(
        to network: NetworkReference, confirmWithin: Int? = nil, confirms: Bool = true, joinOnce: Bool = false,
        besideUplink: Bool = false, within limit: Duration? = nil,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        let request = SwitchRequest(
            target: network, confirmWithin: confirmWithin, joinOnce: joinOnce, besideUplink: besideUplink)
        let limit = limit ?? .seconds(120) + .seconds(confirmWithin ?? 0)
        let command = Mutex(Command.unsent)
        do {
            return try await within(limit, on: settings.clock) { [self] () async throws(ClientError) in
                let events = try await events()
                let (begun, isCertain) = try await begin(request) { command.withLock { $0 = .sent } }
                command.withLock { $0 = .begun(switchId: begun.switchId) }
                let outcome = try await follow(begun, in: events, confirms: confirms, onProgress)
                if !isCertain, outcome.phase == .committed, try await !isOn(network) {
                    throw .outcomeUnknown(switchId: begun.switchId)
                }
                return outcome
            }
        } catch {
            guard error == .timedOut else { throw error }
            switch command.withLock({ $0 }) {
            case .unsent: throw .disconnected
            case .sent: throw .outcomeUnknown(switchId: nil)
            case .begun(let switchId): throw isConnected ? .timedOut : .outcomeUnknown(switchId: switchId)
            }
        }
    }

    // MARK: The command

    private enum Command {
        case unsent
        case sent
        case begun(switchId: String)
    }

    /// - Parameter onSend: called just before sending.
    /// - Returns: the status, and whether it certainly belongs to this command.
    private func begin(
        _ request: SwitchRequest, onSend: () -> Void
    ) async throws(ClientError) -> (begun: SwitchStatus, isCertain: Bool) {
        let client = try await proven()
        let before = feed.position
        onSend()
        do {
            let accepted = try await client.switchNetwork(
                to: request.target, confirmWithin: request.confirmWithin, joinOnce: request.joinOnce,
                besideUplink: request.besideUplink)
            return (accepted, true)
        } catch {
            guard error.isLoss else { throw error }
            lose(client)
            guard let before else { throw .outcomeUnknown(switchId: nil) }
            // Do not send the command again: later events show whether the device has received it.
            let begun = try await persistently { [self] client throws(ClientError) in
                try await switchBegun(since: before, at: client.endpoint)
            }
            guard let begun else {
                throw client.mayDeliverLate ? .outcomeUnknown(switchId: nil) : .disconnected
            }
            return (begun, false)
        }
    }

    /// Returns the switch that began after the position `since`; nil if none did. Uses a new connection, because the
    /// device repeats the events only there.
    private func switchBegun(since: Subscribed, at endpoint: Endpoint) async throws(ClientError) -> SwitchStatus? {
        var client = try await DeviceClient(connectingTo: endpoint, timeout: settings.attempt)
        client.timeout = settings.silence
        let events = try await client.events(EventSubscription(since: since.seq, stream: since.stream))
        let now = events.subscribed
        guard now.stream == since.stream else { throw .outcomeUnknown(switchId: nil) }
        if now.seq > since.seq {
            let begun = try await within(settings.silence, on: settings.clock) { () async throws(ClientError) in
                try await events.lastSwitchBegun(upTo: now.seq)
            }
            if let begun { return begun }
        }
        guard try await client.network().flags.contains(.switchInProgress) else { return nil }
        // A switch has begun but has no event yet, so the caller must ask again.
        throw .disconnected
    }

    private func isOn(_ network: NetworkReference) async throws(ClientError) -> Bool {
        let status = try await persistently { client throws(ClientError) in try await client.network() }
        return switch network {
        case .stored(let hash): status.hash == hash
        case .new(let new): status.ssid == new.ssid
        }
    }

    // MARK: The outcome

    /// Follows the switch by events, which are fast, and by polling, which notices a silent device.
    private func follow(
        _ begun: SwitchStatus, in events: EventStream, confirms: Bool, _ onProgress: (SwitchStatus) -> Void
    ) async throws(ClientError) -> SwitchStatus {
        let (statuses, news) = AsyncStream.makeStream(of: Result<SwitchStatus, ClientError>.self)
        news.yield(.success(begun))
        let outcome = await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await follow(of: begun.switchId, in: events) { news.yield($0) } }
            group.addTask { [self] in await watch(begun.switchId, confirms: confirms) { news.yield($0) } }
            defer { group.cancelAll() }
            var lastReported: SwitchPhase?
            for await result in statuses {
                guard case .success(let status) = result else { return result }
                if lastReported.map(status.phase.comes(after:)) ?? true {
                    lastReported = status.phase
                    onProgress(status)
                }
                if status.phase.isOutcome { return result }
            }
            return .failure(.cancelled)
        }
        return try outcome.get()
    }

    private func follow(
        of switchId: String, in events: EventStream, _ report: (Result<SwitchStatus, ClientError>) -> Void
    ) async {
        do throws(ClientError) {
            for try await event in events {
                switch event.body {
                case .switchProgress(let status) where status.switchId == switchId: report(.success(status))
                case .gap: report(.success(try await status(of: switchId)))
                default: break
                }
            }
            throw .cancelled
        } catch {
            report(.failure(error))
        }
    }

    private func watch(
        _ switchId: String, confirms: Bool, _ report: (Result<SwitchStatus, ClientError>) -> Void
    ) async {
        do throws(ClientError) {
            while true {
                try await sleep(settings.watch)
                // Poll a local connection only to confirm, because the kernel reports its end.
                if let client, client.isConnected, client.endpoint.isLocal, !confirms { continue }
                let status = try await status(of: switchId)
                report(.success(status))
                guard confirms, status.phase == .waitingForConfirmation else { continue }
                // Ignore an error, because the next poll shows the outcome.
                let confirmed = try? await ask { client throws(ClientError) in try await client.confirmSwitch(switchId)
                }
                if let confirmed { report(.success(confirmed)) }
            }
        } catch {
            report(.failure(error))
        }
    }

    private func status(of switchId: String) async throws(ClientError) -> SwitchStatus {
        do {
            return try await persistently { client throws(ClientError) in try await client.switchStatus(switchId) }
        } catch {
            throw error.isUnknownSwitch ? .outcomeUnknown(switchId: switchId) : error
        }
    }

    /// Repeats the question until an answer arrives. Another device may have the old address, so its errors mean only
    /// that the device is away.
    private func persistently<Answer: Sendable>(
        _ question: @Sendable (DeviceClient) async throws(ClientError) -> Answer
    ) async throws(ClientError) -> Answer {
        var attempts = 0
        while true {
            do {
                return try await ask(question)
            } catch {
                guard error.isAbsence else { throw error }
            }
            try await sleep(settings.pauses.pause(&attempts))
        }
    }
}

extension EventStream {
    /// Returns the last switch that began in the events up to `last`. At most one switch runs at a time.
    fileprivate func lastSwitchBegun(upTo last: Int) async throws(ClientError) -> SwitchStatus? {
        var begun: SwitchStatus?
        for try await event in self {
            switch event.body {
            case .switchProgress(let status) where !status.phase.isOutcome || status.switchId == begun?.switchId:
                begun = status
            case .gap: throw .outcomeUnknown(switchId: nil)
            default: break
            }
            if event.seq >= last { return begun }
        }
        throw .disconnected
    }
}

extension ClientError {
    fileprivate var isUnknownSwitch: Bool {
        if case .refused(let refusal) = self { refusal.code == .unknownSwitch } else { false }
    }

    /// Whether the device is away, or refuses for a moment only.
    fileprivate var isAbsence: Bool {
        switch self {
        case .refused(let refusal): refusal.code.kind == .tryLater
        case .notUnderstood, .outcomeUnknown, .notSwitched, .cancelled: false
        default: true
        }
    }
}
