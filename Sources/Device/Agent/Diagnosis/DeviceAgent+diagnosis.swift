import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Linux
import Netlink

// Finds the broken layer. Checks all layers from the radio upwards, without disturbing the link.
extension DeviceAgent {
    /// Time limits of the steps that send packets. The sum is below ``DiagnosisRunner/limit``.
    private enum Limit {
        static let gateway = Duration.milliseconds(1800)
        static let name = Duration.seconds(3)
        static let source = Duration.seconds(3)
        static let target = Duration.seconds(4)
    }

    func diagnosis() async -> Diagnosis {
        await diagnoses.diagnosis { [weak self] run in await self?.diagnose(run) }
    }

    private func diagnose(_ run: DiagnosisRun) async {
        refreshKernelSnapshot()
        let interface = station.interface
        run.facts.radio = DiagnosisFacts.Radio(
            interface: interface, isSupported: station.radio.isSupported, isThere: routes.link(named: interface) != nil,
            isUp: core.isInterfaceUp, block: core.isInterfaceUp ? nil : RadioBlock(of: interface),
            isSupplicantAvailable: core.isSupplicantAvailable, fault: core.radioFault?.text,
            needsPowerCycle: core.radioFault?.needsPowerCycle ?? false, ownWays: await ownWays(of: station))
        let signal = core.policy.phase.accessPoint == nil ? nil : try? await station.radio.station()?.strength
        run.facts.association = DiagnosisFacts.Association(core, signal: signal, at: .now)
        run.facts.linkFault = core.linkFault
        run.facts.addresses = DiagnosisFacts.Addresses(
            own: core.addresses, hasRoute: routes.defaultRoutes.contains { $0.index == station.radio.interfaceIndex },
            problems: core.addressProblems)
        if run.facts.isJoined {
            run.facts.gatewayAnswers = await routes.gatewaysAnswer(on: interface, within: Limit.gateway)
        }
        await diagnoseNetwork(run)
    }

    /// Returns the firmware features that interfere with the agent. Derives them from the radio's abilities, because
    /// the agent cannot read the driver's parameters.
    private func ownWays(of station: Station) async -> [String] {
        guard station.radio.driver == "brcmfmac", let phy = try? await station.radio.abilities() else {
            return []
        }
        return [
            phy.roamsByItself ? "roams without the agent (roamoff is not set)" : nil,
            phy.handshakesByItself ? "does key handshakes itself (feature_disable lacks 0x2000 or 0x80000)" : nil,
        ].compactMap(\.self)
    }

    /// Checks names, internet and targets through the path in use, which may be another uplink than Wi-Fi.
    private func diagnoseNetwork(_ run: DiagnosisRun) async {
        let network = reach.network
        run.facts.hasWayOut = network != nil
        run.facts.modem = network == nil ? modems?.status(carrying: nil) : nil
        guard let network else { return }
        let targets = reach.targets
        let hosts = ([settings.connectivity.source?.address.host] + targets.map(\.host)).compactMap(\.self)
        if let name = hosts.first(where: { IPAddress($0) == nil }) {
            let problem = await network.problem(of: name, within: Limit.name)
            run.facts.names = problem.map { .notFound(name, $0) } ?? .found(name)
        } else {
            run.facts.names = .nothingToFind
        }
        run.facts.isMetered = reach.state.isMetered
        run.facts.internet = await internet(network)
        for (interface, problem) in core.failedUplinks { run.facts.failedUplinks[interface] = problem }
        let problems = await Self.probe(targets)
        run.facts.targets = zip(targets, problems).map { target, problem in
            DiagnosisFacts.Target(name: target.name, place: "\(target.host):\(target.port)", problem: problem)
        }
    }

    private func internet(_ network: InterfaceNetwork) async -> DiagnosisFacts.Internet {
        guard let validateOnline = reach.dependencies.validateOnline else {
            // Without a page to check, use the answer of the network's captive portal API.
            guard let state = reach.portalState, state.isCaptive else { return .notSet }
            return .asked(.captive(portal: state.userPortal), signIn: reach.state.signInProblem)
        }
        guard reach.spendQuestion(for: .diagnosis) else { return .notAsked }
        let look = await validateOnline(network, Limit.source)
        reach.spent(bytes: look.cost, for: .diagnosis)
        return .asked(look.finding, signIn: reach.state.signInProblem)
    }

    /// Checks all targets at the same time.
    private nonisolated static func probe(_ targets: [WatchedTarget]) async -> [ReachProblem?] {
        await withTaskGroup(of: (Int, ReachProblem?).self) { group in
            for (index, target) in targets.enumerated() {
                group.addTask { (index, await target.probe(Limit.target)) }
            }
            var problems = [ReachProblem?](repeating: .timedOut, count: targets.count)
            for await (index, problem) in group { problems[index] = problem }
            return problems
        }
    }
}

extension DiagnosisFacts.Association {
    /// - Parameter signal: signal of the link in dBm; nil if it was not measured.
    package init(_ core: AgentCore, signal: Int?, at now: Instant) {
        let policy = core.policy
        let name = policy.phase.network.flatMap { core.registry[$0] }?.ssid.description ?? "a network"
        switch policy.phase {
        case .offline:
            if let fault = core.searchFault {
                self = .idle(fault)
                return
            }
            let refused = policy.refusals(at: now).map { "\($0.network.ssid): \(AgentCore.explanation($0))" }
            self = .notConnected(known: policy.networks.count, refused: refused)
        case .joining: self = .joining(name)
        case .waitingForAddress, .validating, .online:
            let weak = policy.settings.thresholds(for: policy.phase.accessPoint?.frequency).weak
            self = .joined(name, signal: signal, isWeak: signal.map { $0 < weak } ?? false)
        }
    }
}

extension InterfaceNetwork {
    fileprivate func problem(of name: String, within limit: Duration) async -> ReachProblem? {
        do throws(NameFailure) {
            _ = try await addresses(of: name, within: limit)
            return nil
        } catch {
            return error.problem
        }
    }
}
