import AgentCore
import AgentModel
import AppProtocol
import AppServer
import KeyFile
import Linux

// Requests of apps. The core handles commands; queries read its state.
extension DeviceAgent: DeviceService {
    public nonisolated func respond(
        to request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        guard request.type.isCommand else { return try await answer(request, from: peer) }
        log.info("\(request.type.rawValue) from \(peer)")
        let answer = try await answer(request, from: peer)
        await commanded(request, by: peer)
        return answer
    }

    private nonisolated func answer(
        _ request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .getCapabilities: return .capabilities(await capabilities)
        case .getNetwork: return .network(await measuredStatus())
        case .getBackups: return .backups(await core.backupList(at: .now))
        // Open passwords and derive keys here, outside of the loop.
        case .updateBackups(let update):
            return try await answer(
                to: AgentRequest(update, maximumBackups: settings.maximumBackups, openedWith: seals))
        case .switchNetwork(let request):
            return try await answer(to: AgentRequest(request, openedWith: seals))
        case .stagePassword(let staging):
            return try await answer(to: AgentRequest(staging, openedWith: seals))
        case .dropPassword(let query): return try await answer(to: .dropPassword(query.changeId))
        case .getSwitch(let query): return .switchStatus(try await core.switchStatus(query.switchId))
        case .confirmSwitch(let query): return try await answer(to: .confirmSwitch(query.switchId))
        case .startScan(let request): return try await answer(to: .startScan(request))
        case .getScan: return .scan(try await scanResults())
        case .getHistory(let query): return .history(History(decisions: await core.history(query.limit)))
        case .agreeKey(let query): return .key(try keys.answer(query, from: peer, seals))
        case .getDiagnosis: return .diagnosis(await diagnosis())
        case .getPortal: return .portal(await reach.portalStatus)
        case .answerPortal(let answer): return .portal(try await reach.answer(answer))
        case .getTargets: return .targets(await targetStore.list)
        case .updateTargets(let update): return .targets(try await change(update))
        case .getProviders: return .providers(try await providers)
        case .setProvider(let change): return .providers(try await set(change))
        case .setName(let change):
            _ = try await answer(to: .setName(change.name))
            return .network(await measuredStatus())
        case .getKeys: return .keys(keys.report)
        case .addKey(let request): return .handout(try await keys.add(request))
        case .revokeKey(let query): return .keys(try await keys.revoke(query.name))
        case .openRescue(let request):
            return try await answer(to: .openSetupAccessPoint(request.isButton ? .button : .command))
        case .closeRescue: return try await answer(to: .closeSetupAccessPoint)
        case .getMetrics: return .metrics(await metrics())
        case .claimKey(let claim): return .handout(try await keys.claim(claim, from: peer))
        }
    }

    private func commanded(_ request: Request.Body, by peer: Peer) {
        if let event = AgentEvent(commanded: request, by: peer) { handle(event) }
        switch request {
        case .addKey, .revokeKey, .claimKey: keyExpiry.review()
        default: break
        }
    }

    public nonisolated func open(
        _ proved: ProvedRequest, from peer: Peer
    ) async throws(ProtocolError) -> (Request.Body, Peer) { try keys.open(proved, from: peer) }

    public nonisolated var networkHashes: [NetworkHash] { get async { await core.networkHashes } }

    public func answerSent(_ answer: SwitchStatus) { handle(.answerSent(switchID: answer.switchId)) }

    private var capabilities: Capabilities {
        Capabilities(
            maxBackupNetworks: settings.maximumBackups, deviceId: identity.id, firmware: Version.current,
            features: AgentCore.features + ["targets"]
                + (settings.addressClient == .altnet ? ["address"] : [])
                + (settings.connectivity.providersSocket == nil ? [] : ["portal", "providers"])
                + (settings.lanPort == nil ? [] : ["lan"]) + (settings.setupAccessPoint == nil ? [] : ["rescue"]))
    }

    package func metrics() async -> MetricsReport {
        let usage = await store.usage
        return core.metrics(
            MetricsLedger.Facts(
                version: Version.current, bytesWritten: usage.bytesWritten, sectorsErased: usage.sectorsBegun,
                mostErases: usage.mostErases),
            at: .now)
    }

    /// Returns the status with a new measurement of the signal.
    private func measuredStatus() async -> NetworkStatus {
        refreshKernelSnapshot()
        var status = core.status(at: .now)
        status.connectivity = reach.connectivity
        // This status may be some seconds old. A newer one causes an event.
        modems?.query()
        // Send the modem's signal or none: Wi-Fi's signal would be mistaken for it.
        guard status.carriedBy != .cellular else { return status }
        if status.bssid != nil { status.signal = try? await station.radio.station()?.strength }
        return status
    }

    private func scanResults() async throws(ProtocolError) -> ScanResults {
        do {
            let now = Instant.now
            let results = try await accessPointsInRange()
            return core.scanResults(results, at: now)
        } catch {
            throw ProtocolError(error)
        }
    }
}

extension AgentRequest {
    /// Opens the passwords and derives the keys, which takes milliseconds for each network.
    package init(
        _ update: BackupsUpdate, maximumBackups: Int, openedWith seals: SealOpener
    ) throws(ProtocolError) {
        self = .updateBackups(try PreparedUpdate(update, maximum: maximumBackups, seals: seals))
    }

    /// Opens the new password and derives its key.
    package init(_ staging: PasswordStaging, openedWith seals: SealOpener) throws(ProtocolError) {
        let network = try StoredNetwork(
            staging.network, at: "body", in: SealContext(of: staging.network, in: staging), openedWith: seals)
        guard case .passphrase(let passphrase, let psk) = network.credential else {
            throw ProtocolError(.passwordMissing, "the new password is missing").about("body.password")
        }
        self = .stagePassword(
            NewPassword(
                changeID: staging.changeId, ssid: network.ssid,
                key: StagedPassword.Key(passphrase: passphrase, psk: psk), keepFor: staging.keepFor))
    }

    package init(_ request: SwitchRequest, openedWith seals: SealOpener) throws(ProtocolError) {
        let target: SwitchTarget =
            switch request.target {
            case .stored(let hash): .stored(hash)
            case .new(let network):
                .new(
                    try StoredNetwork(
                        network, at: "body", in: SealContext(of: network, in: request), openedWith: seals))
            }
        self = .switchNetwork(
            target, confirmWithin: request.confirmWithin, joinOnce: request.joinOnce,
            besideUplink: request.besideUplink, switchID: SwitchIdentifier.random())
    }
}

private enum SwitchIdentifier {
    /// Returns a random ID that is hard to guess and short enough to type.
    static func random() -> String { Hex.string((0..<6).map { _ in UInt8.random(in: 0...255) }) }
}
