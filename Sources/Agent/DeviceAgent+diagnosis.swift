import AgentModel
import AppProtocol
import ConnectionMonitor
import InterfaceNetwork
import Netlink
import OnlineValidation

// Which layer is broken, looked at anew from the radio upwards, and what a person can do about it. Nothing that is done for
// it disturbs the link.
extension DeviceAgent {
    /// The limits of the steps that send something; together no more than 12 s.
    private enum Limit {
        static let gateway = Duration.milliseconds(2000)
        static let name = Duration.seconds(3)
        static let source = Duration.seconds(3)
        static let target = Duration.seconds(4)
    }

    func diagnosis() async -> Diagnosis {
        var course = DiagnosisCourse()
        course.add(radioStep)
        course.add(
            associationStep(signal: policy.phase.accessPoint == nil ? nil : try? await radio.station()?.strength))
        course.add(addressStep)
        if course.goesOn {
            course.add(.gateway(answers: await routes.gatewaysAnswer(on: settings.interface, within: Limit.gateway)))
        } else {
            course.skip(.gateway)
        }
        await lookFurther(&course)
        return Diagnosis(steps: course.steps)
    }

    private var radioStep: Diagnosis.Step {
        let interface = settings.interface
        return routes.link(named: interface) == nil
            ? .broken(
                .radio, "there is no interface \(interface)",
                "check that the Wi-Fi adapter is plugged in and that ALTNET_INTERFACE names it")
            : !isInterfaceUp
                ? .broken(
                    .radio, "\(interface) is down", "wait half a minute for it to be brought up, or look for rfkill")
                : !isSupplicantAvailable
                    ? .broken(.radio, "wpa_supplicant does not answer", "start wpa_supplicant for \(interface)")
                    : .good(.radio, "\(interface) is up, and wpa_supplicant answers")
    }

    private func associationStep(signal: Int?) -> Diagnosis.Step {
        let name = policy.phase.network.flatMap { book[$0] }?.ssid.description ?? "a network"
        switch policy.phase {
        case .offline:
            let count = policy.networks.count
            return count == 0
                ? .broken(.association, "no network is known", "add one with altnet backups or altnet switch")
                : .broken(
                    .association, "not connected; \(count) known networks are looked for",
                    "check that a router is on and near, and that its password is the one that is stored")
        case .joining: return .doubtful(.association, "joining \(name)", "wait a moment, and ask again")
        case .waitingForAddress, .proving, .online:
            guard let signal else { return .good(.association, "connected to \(name)") }
            let weak = settings.policy.thresholds(for: policy.phase.accessPoint?.frequency).weak
            let found = "connected to \(name) at \(signal) dBm"
            return signal < weak
                ? .doubtful(.association, found + ", which is weak", "move the device or the router")
                : .good(.association, found)
        }
    }

    private var addressStep: Diagnosis.Step {
        let own = addresses.map(\.text)
        let index = radio.interfaceIndex
        guard !own.isEmpty else {
            return .broken(.address, "the network gave no address", "check the router's DHCP, or restart the router")
        }
        guard routes.defaultRoutes.contains(where: { $0.index == index }) else {
            return .broken(
                .address, "\(own.joined(separator: ", ")), and no route to anywhere", "check the router's DHCP")
        }
        return .good(.address, own.joined(separator: ", "))
    }

    /// Names, internet and targets are asked through the path in use, which may be another uplink than Wi-Fi.
    private func lookFurther(_ course: inout DiagnosisCourse) async {
        let targets = reach.targets
        guard let network = reach.network else {
            course.skip(.names)
            course.skip(.internet)
            for _ in targets { course.skip(.target) }
            return
        }
        let hosts = ([settings.connectivity.source?.address.host] + targets.map(\.host)).compactMap(\.self)
        if let name = hosts.first(where: { IPAddress($0) == nil }) {
            course.add(.names(name, await network.problem(of: name, within: Limit.name)))
        } else {
            course.skip(.names, "no name has to be found")
        }
        if let source = settings.connectivity.source {
            let look = await OnlineValidator(source: source).look(through: network, within: Limit.source)
            course.add(.internet(look.finding))
        } else {
            course.skip(.internet, "nobody to ask is set (ALTNET_VALIDATION_URL)")
        }
        let answers = await Self.probe(targets)
        for (target, problem) in zip(targets, answers) { course.add(.target(target, problem)) }
        if targets.isEmpty { course.skip(.target, "no target is set (ALTNET_TARGETS)") }
    }
}

extension DeviceAgent {
    /// All at once, so that many take no longer than one.
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

/// The steps so far, and whether there is a point in looking further.
struct DiagnosisCourse {
    private(set) var steps: [Diagnosis.Step] = []

    var goesOn: Bool { !steps.contains { $0.result == .broken } }

    mutating func add(_ step: Diagnosis.Step) { steps.append(step) }

    mutating func skip(_ layer: Diagnosis.Layer, _ reason: String = "not looked at: something below is broken") {
        steps.append(Diagnosis.Step(layer: layer, result: .skipped, found: reason))
    }
}

extension Diagnosis.Step {
    static func good(_ layer: Diagnosis.Layer, _ found: String) -> Self {
        Self(layer: layer, result: .good, found: found)
    }

    static func doubtful(_ layer: Diagnosis.Layer, _ found: String, _ remedy: String) -> Self {
        Self(layer: layer, result: .doubtful, found: found, remedy: remedy)
    }

    static func broken(_ layer: Diagnosis.Layer, _ found: String, _ remedy: String) -> Self {
        Self(layer: layer, result: .broken, found: found, remedy: remedy)
    }

    static func gateway(answers: Bool) -> Self {
        answers
            ? .good(.gateway, "the router answers")
            : .broken(.gateway, "the router does not answer", "restart the router")
    }

    static func names(_ name: String, _ problem: ReachProblem?) -> Self {
        guard let problem else { return .good(.names, "\(name) is found") }
        let remedy =
            problem == .nameUnknown
            ? "check the name in the settings" : "restart the router; if that does not help, ask the internet provider"
        return .broken(.names, "\(name): \(problem.words)", remedy)
    }

    static func internet(_ finding: ValidationFinding) -> Self {
        switch finding {
        case .online: .good(.internet, "the internet is reached")
        case .captive(let portal):
            .broken(
                .internet, "the network wants somebody to sign in",
                "sign in" + (portal.map { " at \($0)" } ?? "") + ", or with altnet portal")
        case .failed(let problem):
            .broken(
                .internet, "the internet is not reached: \(problem.words)",
                "check the router's connection to the provider")
        }
    }

    static func target(_ target: WatchedTarget, _ problem: ReachProblem?) -> Self {
        let place = "\(target.name) (\(target.host):\(target.port))"
        guard let problem else { return .good(.target, "\(place) answers") }
        return .broken(
            .target, "\(place): \(problem.words)",
            problem == .connectionRefused
                ? "check that the server's program runs" : "check the server, and the name and port in ALTNET_TARGETS")
    }
}

extension ReachProblem {
    /// As a person says it.
    var words: String {
        switch self {
        case .noAddress: "there is no address to send from"
        case .noRoute: "there is no route"
        case .gatewaySilent: "the router does not answer"
        case .noNameServer: "the network names no name server"
        case .nameServerSilent: "no name server answers"
        case .nameUnknown: "there is no such name"
        case .nameServerFailed: "the name server failed"
        case .connectionRefused: "connection refused"
        case .connectionReset: "the connection was broken off"
        case .unreachable: "a router says that it is unreachable"
        case .timedOut: "no answer"
        case .tlsFailed: "it cannot prove who it is"
        case .unexpectedAnswer: "an unexpected answer"
        case .captive: "somebody has to sign in first"
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
