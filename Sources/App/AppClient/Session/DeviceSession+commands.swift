import AgentModel
import AppProtocol

extension DeviceSession {
    /// Replaces the stored list as a whole, or leaves it as it is.
    ///
    /// Where the answer was lost the list is sent once more, which does no harm: to store the same list twice is to
    /// store it once. With a revision the second one is refused if the first one had arrived, and then the list tells
    /// whether it is the one that was sent.
    /// - Parameter revision: the revision that the list must still have, or nil to replace it whatever it is.
    public func updateBackups(_ networks: [NetworkReference], ifRevision revision: Int? = nil)
        async throws(ClientError) -> BackupList
    {
        let client = try await proven()
        do {
            return try await client.updateBackups(networks, ifRevision: revision)
        } catch {
            guard error.isLoss else { throw error }
            lose(client)
        }
        do {
            return try await connected().updateBackups(networks, ifRevision: revision)
        } catch {
            guard case .refused(let refusal) = error, refusal.code == .revisionConflict,
                let sent = networks.hashes(at: client.endpoint)
            else { throw error }
            let stored = try await ask { client throws(ClientError) in try await client.backups() }
            guard Set(stored.networks.map(\.hash)) == sent else { throw error }
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
            case .sealed: nil
            }
        }
        return hashes.count == count ? Set(hashes) : nil
    }
}
