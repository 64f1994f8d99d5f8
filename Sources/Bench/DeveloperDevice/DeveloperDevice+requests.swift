import Agent
import AgentCore
import AgentModel
import AppProtocol
import AppServer
import Simulation

// Import `Peer` explicitly, because `Simulation` has a type with the same name.
import struct AppServer.Peer

extension DeveloperDevice: DeviceService {
    package nonisolated func respond(
        to request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        let answer = try await answer(request, from: peer)
        if let event = AgentEvent(commanded: request, by: peer) { await act { $0.handle(event) } }
        switch request {
        case .addKey, .revokeKey, .claimKey: await keysHaveChanged()
        default: break
        }
        return answer
    }

    private nonisolated func answer(
        _ request: Request.Body, from peer: Peer
    ) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .getCapabilities: return .capabilities(await capabilities)
        case .getNetwork: return .network(await act { $0.status() })
        case .getBackups: return .backups(await act { $0.core.backupList(at: $0.clock) })
        case .updateBackups(let update):
            return try await answer(to: AgentRequest(update, maximumBackups: maximumBackups, openedWith: seals))
        case .switchNetwork(let request): return try await answer(to: AgentRequest(request, openedWith: seals))
        case .stagePassword(let staging): return try await answer(to: AgentRequest(staging, openedWith: seals))
        case .dropPassword(let query): return try await answer(to: .dropPassword(query.changeId))
        case .getSwitch(let query): return .switchStatus(try await switchStatus(query.switchId))
        case .confirmSwitch(let query): return try await answer(to: .confirmSwitch(query.switchId))
        case .startScan(let request): return try await answer(to: .startScan(request))
        case .getScan: return .scan(await act { $0.scanResults() })
        case .getHistory(let query): return .history(History(decisions: await act { $0.core.history(query.limit) }))
        case .agreeKey(let query): return .key(try keys.answer(query, from: peer, seals))
        case .setName(let change): return try await answer(to: .setName(change.name))
        case .getKeys: return .keys(keys.report)
        case .addKey(let request): return .handout(try await keys.add(request))
        case .revokeKey(let query): return .keys(try await keys.revoke(query.name))
        case .claimKey(let claim): return .handout(try await keys.claim(claim, from: peer))
        case .getDiagnosis: return .diagnosis(await act { $0.diagnosis })
        case .getMetrics: return .metrics(await act { $0.metrics(version: Version.current) })
        case .openRescue, .closeRescue:
            throw ProtocolError(.unsupported, "a simulated device has no setup access point").about("type")
        case .getPortal, .answerPortal, .getTargets, .updateTargets, .getProviders, .setProvider:
            throw ProtocolError(.unsupported, "a simulated device has no targets and no hotspot providers")
                .about("type")
        }
    }

    package nonisolated func open(
        _ proved: ProvedRequest, from peer: Peer
    ) async throws(ProtocolError) -> (Request.Body, Peer) { try keys.open(proved, from: peer) }

    package nonisolated var networkHashes: [NetworkHash] { get async { await act { $0.core.networkHashes } } }

    package nonisolated func answerSent(_ answer: SwitchStatus) async {
        await act { $0.handle(.answerSent(switchID: answer.switchId)) }
    }

    private func switchStatus(_ id: String) throws(ProtocolError) -> SwitchStatus {
        try act { (device) throws(ProtocolError) in try device.core.switchStatus(id) }
    }

    private var capabilities: Capabilities {
        let hasConnectivity = act { $0.connectivity != nil }
        return Capabilities(
            maxBackupNetworks: maximumBackups, deviceId: identity.id, firmware: Version.current,
            features: AgentCore.features.filter { $0 != "connectivity" || hasConnectivity } + ["address", "lan"])
    }
}

extension RealTimeDevice {
    fileprivate var diagnosis: Diagnosis {
        let (core, clock) = (core, clock)
        var facts = DiagnosisFacts.none
        facts.radio = DiagnosisFacts.Radio(interface: "wlan0", isSupplicantAvailable: core.isSupplicantAvailable)
        facts.association = DiagnosisFacts.Association(core, signal: signal, at: clock.instant)
        facts.addresses = DiagnosisFacts.Addresses(own: core.addresses, hasRoute: !core.addresses.isEmpty)
        facts.gatewayAnswers = facts.isJoined ? true : nil
        facts.hasWayOut = !core.addresses.isEmpty || core.otherUplink != nil
        facts.names = .nothingToFind
        facts.internet = connectivity.map { DiagnosisFacts.Internet($0) } ?? .notSet
        facts.targets =
            connectivity?.targets.map { target in
                DiagnosisFacts.Target(
                    name: target.name, place: "\(target.host):\(target.port)",
                    problem: target.isOnline ? nil : target.reason ?? .timedOut)
            } ?? []
        return Diagnosis(steps: facts.steps, checked: clock.time)
    }
}

extension DiagnosisFacts.Internet {
    fileprivate init(_ connectivity: Connectivity) {
        self =
            switch connectivity.internet {
            case .yes: .asked(.online)
            case .captive: .asked(.captive(portal: nil))
            case .no: .asked(.failed(connectivity.problem ?? .timedOut))
            case .unknown: .notSet
            }
    }
}
