import AppProtocol

extension DeviceClient {
    /// Scans and waits for the results. Subscribes this connection to events.
    /// - Parameter limit: how long the scan may take.
    public func scan(_ request: ScanRequest = ScanRequest(), within limit: Duration = .seconds(30))
        async throws(ClientError) -> (finished: ScanFinished, results: ScanResults)
    {
        let events = try await events()
        let scanId = try await startScan(request).scanId
        let finished = try await first(in: events, within: limit) { event throws(ClientError) -> ScanFinished? in
            switch event.body {
            case .scanFinished(let finished) where finished.scanId == scanId: return finished
            case .gap:
                let results = try await scanResults()
                guard results.lastScanId == scanId else { return nil }
                return ScanFinished(scanId: scanId, outcome: .finished, networks: results.networks.count)
            default: return nil
            }
        }
        return (finished, try await scanResults())
    }

    /// Switches and waits for the outcome. Subscribes this connection to events.
    /// - Parameters:
    ///   - confirmWithin: in seconds, as of the call that does not wait. Somebody else has to confirm meanwhile.
    ///   - limit: how long the switch may take, roll-back included.
    ///   - onProgress: is told each phase, the outcome included.
    public func switchNetwork(
        to network: NetworkReference, confirmWithin: Int? = nil, joinOnce: Bool = false, within limit: Duration,
        onProgress: @escaping @Sendable (SwitchStatus) -> Void = { _ in }
    ) async throws(ClientError) -> SwitchStatus {
        let events = try await events()
        let accepted = try await switchNetwork(to: network, confirmWithin: confirmWithin, joinOnce: joinOnce)
        onProgress(accepted)
        if accepted.phase.isOutcome { return accepted }
        return try await first(in: events, within: limit) { event throws(ClientError) -> SwitchStatus? in
            let status: SwitchStatus
            switch event.body {
            case .switchProgress(let progress) where progress.switchId == accepted.switchId: status = progress
            case .gap: status = try await switchStatus(accepted.switchId)
            default: return nil
            }
            onProgress(status)
            return status.phase.isOutcome ? status : nil
        }
    }

    /// The first value that `pick` finds in the events.
    private func first<Value: Sendable>(
        in events: EventStream, within limit: Duration,
        _ pick: @escaping @Sendable (Event) async throws(ClientError) -> Value?
    ) async throws(ClientError) -> Value {
        let result = await withTaskGroup(of: Result<Value, ClientError>.self) { group in
            group.addTask {
                do {
                    for try await event in events {
                        if let value = try await pick(event) { return .success(value) }
                    }
                    return .failure(Task.isCancelled ? .cancelled : .disconnected)
                } catch {
                    return .failure(error as? ClientError ?? .disconnected)
                }
            }
            group.addTask {
                do {
                    try await Task.sleep(for: limit)
                    return .failure(.timedOut)
                } catch {
                    return .failure(.cancelled)
                }
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.disconnected)
        }
        return try result.get()
    }
}
