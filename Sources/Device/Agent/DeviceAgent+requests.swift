import AgentCore
import AgentModel
import AppProtocol
import AppServer
import KeyFile
import Linux

// The app's questions and commands. The core answers commands; what it knows is read from it.
extension DeviceAgent: DeviceService {
    public nonisolated func respond(
        to request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        guard request.type.isCommand else { return try await answer(request, from: peer) }
        log.info("\(request.type.rawValue) from \(peer)")
        let answer = try await answer(request, from: peer)
        if let deed = request.deed { await remember(deed, request.type, by: peer) }
        return answer
    }

    private nonisolated func answer(
        _ request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .getCapabilities: return .capabilities(await capabilities)
        case .getNetwork: return .network(await measuredStatus())
        case .getBackups: return .backups(await core.backupList(at: .now))
        // Passwords are opened and keys derived here, off the loop.
        case .updateBackups(let update):
            let update = try PreparedUpdate(update, maximum: settings.maximumBackups, seals: seals)
            return try await answer(to: .updateBackups(update))
        case .switchNetwork(let request):
            let target: SwitchTarget =
                switch request.target {
                case .stored(let hash): .stored(hash)
                case .new(let network):
                    .new(
                        try StoredNetwork(
                            network, at: "body", in: SealContext(of: network, in: request), openedWith: seals))
                }
            return try await answer(
                to: .switchNetwork(
                    target, confirmWithin: request.confirmWithin, joinOnce: request.joinOnce,
                    besideUplink: request.besideUplink,
                    switchID: SwitchIdentifier.random()))
        case .getSwitch(let query): return .switchStatus(try await core.switchStatus(query.switchId))
        case .confirmSwitch(let query): return try await answer(to: .confirmSwitch(query.switchId))
        case .startScan(let request): return try await answer(to: .startScan(request))
        case .getScan: return .scan(try await scanResults())
        case .getHistory(let query): return .history(History(decisions: await core.history(query.limit)))
        case .agreeKey(let query):
            let name = query.key ?? peer.key ?? .owner
            return .key(try seals.key(for: query, of: keys.key(named: name)?.secretIfValid))
        case .getDiagnosis: return .diagnosis(await diagnosis())
        case .getPortal: return .portal(await reach.portalStatus)
        case .answerPortal(let answer): return .portal(try await reach.answer(answer))
        case .getTargets: return .targets(await roster.list)
        case .updateTargets(let update): return .targets(try await change(update))
        case .getProviders: return .providers(try await providers)
        case .setProvider(let change): return .providers(try await set(change))
        case .getKeys: return .keys(keys.report)
        case .addKey(let request): return .handout(try await keys.add(request))
        case .revokeKey(let query): return .keys(try await keys.revoke(query.name))
        case .claimKey(let claim):
            guard let invited = peer.key else {
                throw ProtocolError(.notPermitted, "only an invitation can be claimed")
            }
            return .handout(try await keys.claim(claim, with: invited))
        }
    }

    /// Keeps what an app has done, for others that ask why the device is as it is.
    private func remember(_ deed: String, _ type: MessageType, by peer: Peer) {
        let author = peer.key.map(\.text.printable) ?? "a program of this device"
        handle(.commanded(type, by: peer.key, text: "\(author) \(deed)"))
        reviewKeys()
    }

    public nonisolated func hasArrived(_ answer: SwitchStatus) async { await tellAnswered(answer.switchId) }

    private func tellAnswered(_ switchID: String) { handle(.answered(switchID: switchID)) }

    private var capabilities: Capabilities {
        Capabilities(
            maxBackupNetworks: settings.maximumBackups, deviceId: identity.id, firmware: Version.current,
            features: [
                "failover", "scan", "confirm", "joinOnce", "seal", "connectivity", "targets", "home", "besideUplink",
                "enterprise", "keys",
            ]
                + (settings.addressClient == .altnet ? ["address"] : [])
                + (settings.connectivity.providersSocket == nil ? [] : ["portal", "providers"])
                + (settings.lanPort == nil ? [] : ["lan"]))
    }

    /// The status with the signal measured now.
    private func measuredStatus() async -> NetworkStatus {
        refreshSurroundings()
        var status = core.status(at: .now)
        status.connectivity = reach.connectivity
        // The answer may be some seconds old; a newer one is news to those that listen.
        modems?.query()
        // The modem's is told, or none: that of Wi-Fi would be taken for it.
        guard status.carriedBy != .cellular else { return status }
        if status.bssid != nil { status.signal = try? await station.radio.station()?.strength }
        return status
    }

    /// The access points in range, as the kernel knows them.
    private func scanResults() async throws(ProtocolError) -> ScanResults {
        do {
            let now = Instant.now
            let results = try await station.radio.scanResults()
            return core.scanResults(results, at: now)
        } catch {
            throw ProtocolError(error)
        }
    }
}

private enum SwitchIdentifier {
    /// Hard to guess and short enough to type.
    static func random() -> String { Hex.string((0..<6).map { _ in UInt8.random(in: 0...255) }) }
}

extension AppKey {
    var secretIfValid: Secret? { state == .valid ? secret : nil }
}

extension Request.Body {
    /// What it did, as the predicate of a sentence; nil for what changes nothing that lasts.
    fileprivate var deed: String? {
        switch self {
        case .updateBackups: "changed the stored networks"
        case .switchNetwork: "commanded a switch to another network"
        case .confirmSwitch: "confirmed the switch"
        case .answerPortal: "answered the sign-in of a hotspot"
        case .updateTargets: "changed the device's servers"
        case .setProvider(let change): "switched the hotspot provider \(change.provider.printable) \(change.isOn ? "on" : "off")"
        case .addKey(let request):
            (request.claimWithin == nil ? "made a key" : "invited an app")
                + (request.name.map { ", \($0.text.printable)" } ?? "")
        case .revokeKey(let query): "revoked the key \(query.name.text.printable)"
        case .claimKey: "claimed a key of its own"
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .startScan, .getScan, .getHistory, .agreeKey,
            .getDiagnosis, .getPortal, .getTargets, .getProviders, .getKeys:
            nil
        }
    }
}
