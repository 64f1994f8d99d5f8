import AgentModel
import AppProtocol
import AppServer
import FailoverPolicy
import KeyFile

// The app's questions and commands.
extension DeviceAgent: DeviceService {
    public nonisolated func respond(
        to request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .getCapabilities: .capabilities(await capabilities)
        case .getNetwork: .network(await measuredStatus())
        case .getBackups: .backups(await backupList)
        // Keys are derived here, off the loop.
        case .updateBackups(let update):
            .backups(try await replaceBackups(PreparedUpdate(update, maximum: settings.maximumBackups)))
        case .switchNetwork(.stored(let hash)): .switchStatus(try await switchNetwork(toStored: hash))
        case .switchNetwork(.new(let network)): .switchStatus(try await switchNetwork(to: StoredNetwork(network)))
        case .getSwitch(let query): .switchStatus(try await switchStatus(query.switchId))
        case .startScan(let request): .scanStarted(try await startScan(request))
        case .getScan: .scan(try await scanResults())
        case .getHistory(let query): .history(History(decisions: await history.last(query.limit)))
        }
    }

    private var capabilities: Capabilities {
        Capabilities(
            maxBackupNetworks: settings.maximumBackups, deviceId: identity.id, firmware: Version.current,
            features: ["failover", "scan"])
    }

    /// The status with the signal measured now.
    private func measuredStatus() async -> NetworkStatus {
        var status = currentStatus
        if status.bssid != nil { status.signal = try? await radio.station()?.strength }
        return status
    }

    /// The list with what is known of its networks now, written or not.
    private var backupList: BackupList {
        var state = state
        journal.update(&state, .now)
        return BackupList(
            max: settings.maximumBackups, revision: Int(clamping: state.backupsRevision),
            networks: state.backups.map { network in
                BackupNetwork(network, state.statistics[network.ssid], localKey: identity.localKey)
            })
    }

    private func replaceBackups(_ update: PreparedUpdate) async throws(ProtocolError) -> BackupList {
        let localKey = identity.localKey
        let before = state.backupsRevision
        try await commit { state throws(ProtocolError) in try state.apply(update, localKey: localKey) }
        publishNetworks()
        if state.backupsRevision != before {
            log.notice("the list of backups has \(state.backups.count) networks, revision \(state.backupsRevision)")
            hub.publish(.backupsChanged(backupList))
        }
        return backupList
    }

    // MARK: Switches

    private func switchStatus(_ switchID: String) throws(ProtocolError) -> SwitchStatus {
        guard let entry = ledger[switchID] else {
            throw ProtocolError(.unknownSwitch, "there was no switch \(switchID) since the agent started")
        }
        return entry.status
    }

    private func switchNetwork(toStored hash: NetworkHash) async throws(ProtocolError) -> SwitchStatus {
        guard let network = state.network(hash, localKey: identity.localKey) else {
            throw ProtocolError(
                .unknownNetwork, "no stored network has the hash \(hash)", details: ["hash": .text(hash.base64)])
        }
        return try await switchNetwork(to: network)
    }

    /// Takes a switch on: from here it ends in exactly one outcome, also if the power goes.
    private func switchNetwork(to network: StoredNetwork) async throws(ProtocolError) -> SwitchStatus {
        // The same network under the same password is the stored one, whichever way it is named.
        let target =
            state.namedNetworks.first { $0.ssid == network.ssid && $0.credential == network.credential } ?? network
        let flags = currentStatus.flags
        guard radio.interfaceIndex != nil else { throw .interfaceMissing(settings.interface) }
        if let current = ledger.current {
            throw ProtocolError(
                .switchInProgress, "a switch to \(current.target.ssid) is under way",
                details: ["switchId": .text(current.status.switchId)])
        }
        guard flags.contains(.canSwitch) else {
            throw ProtocolError(.cannotSwitch, "the uplink is not Wi-Fi, so there is nothing to switch")
        }
        if case .online(let link) = policy.phase, book[link.network]?.isSame(as: target) == true {
            throw ProtocolError(.alreadyConnected, "the device is on \(target.ssid) already")
        }
        let entry = ledger.open(SwitchIdentifier.random(), target: target)
        let pending = PendingSwitch(
            id: entry.status.switchId, target: target, cameFrom: policy.phase.network.flatMap { book[$0] }?.ssid)
        do {
            try await commit { state in state.pendingSwitch = pending }
        } catch {
            ledger.remove(entry.id)
            throw error
        }
        publishNetworks()
        begin(entry)
        return entry.status
    }

    private func begin(_ entry: SwitchLedger.Entry) {
        guard let id = book.id(of: entry.target) else { return }
        // After the answer is on its way, for the link may drop at once.
        Task { handle(.switchTo(id, id: entry.id)) }
    }

    func switchProgressed(_ id: UInt64, _ progress: SwitchProgress) {
        guard progress.isFinal else { return tell(id, progress) }
        // An outcome is told when it is stored: what was told must survive a power cut.
        Task {
            await settle(id, progress)
            tell(id, progress)
        }
    }

    private func tell(_ id: UInt64, _ progress: SwitchProgress) {
        guard let status = ledger.update(id, progress)?.status else { return }
        if progress.isFinal { log.notice("switch \(status.switchId): \(status.text ?? status.phase.rawValue)") }
        hub.publish(.switchProgress(status))
        updateStatus()
    }

    private func settle(_ id: UInt64, _ progress: SwitchProgress) async {
        guard let entry = ledger[id] else { return }
        await store { state in
            if progress == .committed { state.adopt(entry.target) }
            state.endSwitch(entry.status.switchId)
        }
    }

    /// The agent was restarted in the middle of a switch: it counts as failed, and the stored networks decide where to go.
    func undo(_ pending: PendingSwitch) async {
        let origin = pending.cameFrom?.description ?? "nothing"
        log.warning("a switch from \(origin) to \(pending.target.ssid) was cut short by a restart")
        ledger.interrupted(pending)
        await store { state in
            // A device that knows no other network keeps the one that it was sent to.
            if state.namedNetworks.isEmpty { state.adopt(pending.target) }
            state.endSwitch(pending.id)
        }
    }

    private func store(_ change: @Sendable (inout StoredState) -> Void) async {
        do {
            try await commit { state in change(&state) }
        } catch {
            // The switch itself is over. After a restart it would count as cut short, which does no harm.
            log.error("the outcome of a switch could not be stored: \(error)")
        }
        publishNetworks()
    }
}

extension BackupNetwork {
    fileprivate init(_ network: StoredNetwork, _ statistics: NetworkStatistics?, localKey: Secret) {
        self.init(
            ssid: network.ssid, hash: network.hash(localKey: localKey),
            security: network.security ?? (network.credential == .none ? .open : .wpa2wpa3),
            isHidden: network.isHidden,
            lastSeen: statistics?.lastSeen.map { Timestamp(millisecondsSince1970: Int64($0) * 1000) },
            lastSignal: statistics?.lastSignal.map(Int.init), lastFailure: statistics?.lastFailure)
    }
}

private enum SwitchIdentifier {
    /// Hard to guess and short enough to type.
    static func random() -> String { Hex.string((0..<6).map { _ in UInt8.random(in: 0...255) }) }
}
