import AgentModel
import AppProtocol
import AppServer
import Failover
import KeyFile

// The app's questions and commands.
extension DeviceAgent: DeviceService {
    public nonisolated func respond(
        to request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        if request.type.isCommand { log.info("\(request.type.rawValue) from \(peer)") }
        return switch request {
        case .getCapabilities: .capabilities(await capabilities)
        case .getNetwork: .network(await measuredStatus())
        case .getBackups: .backups(await backupList)
        // Passwords are opened and keys derived here, off the loop.
        case .updateBackups(let update):
            .backups(try await replaceBackups(PreparedUpdate(update, maximum: settings.maximumBackups, seals: seals)))
        case .switchNetwork(let request): .switchStatus(try await switchNetwork(request))
        case .getSwitch(let query): .switchStatus(try await switchStatus(query.switchId))
        case .confirmSwitch(let query): .switchStatus(try await confirmSwitch(query.switchId))
        case .startScan(let request): .scanStarted(try await startScan(request))
        case .getScan: .scan(try await scanResults())
        case .getHistory(let query): .history(History(decisions: await history.last(query.limit)))
        case .agreeKey: .key(try seals.key)
        case .getDiagnosis: .diagnosis(await diagnosis())
        case .getPortal: .portal(await reach.portalStatus)
        case .answerPortal(let answer): .portal(try await reach.answer(answer))
        }
    }

    private var capabilities: Capabilities {
        Capabilities(
            maxBackupNetworks: settings.maximumBackups, deviceId: identity.id, firmware: Version.current,
            features: ["failover", "scan", "confirm", "joinOnce", "sealed", "connectivity"]
                + (settings.connectivity.providersSocket == nil ? [] : ["portal"])
                + (settings.lanPort == nil ? [] : ["lan"]))
    }

    /// The status with the signal measured now.
    private func measuredStatus() async -> NetworkStatus {
        var status = currentStatus
        // It would be taken for the modem's, which is not known.
        guard otherUplink != .cellular else { return status }
        if status.bssid != nil { status.signal = try? await radio.station()?.strength }
        return status
    }

    /// The list with what is known of its networks now, written or not.
    var backupList: BackupList {
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
        try await commit { state throws(ProtocolError) in try state.apply(update, localKey: localKey) }
        publishNetworks()
        return backupList
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
