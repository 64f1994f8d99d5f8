import AgentModel
import Failover

@testable import Simulation

/// Short forms for scenarios in tests.
enum Sketch {
    static func ssid(_ name: String) -> SSID {
        guard let ssid = try? SSID(name) else { preconditionFailure("not an SSID: \(name)") }
        return ssid
    }

    static func network(_ name: String, isPreferred: Bool = false, isHidden: Bool = false, password: String? = "right")
        -> Scenario.Network
    {
        Scenario.Network(ssid: ssid(name), isPreferred: isPreferred, isHidden: isHidden, password: password)
    }

    /// An access point of the network `name`, called like it in small letters unless something else is said.
    static func accessPoint(
        _ name: String, called label: String? = nil, megahertz: Int = 2412, signal: Int = -50,
        password: String? = "right"
    ) -> Scenario.AccessPoint {
        Scenario.AccessPoint(
            name: label ?? name.lowercased(), ssid: ssid(name), frequency: Frequency(megahertz: megahertz),
            place: .signal(signal), password: password)
    }

    static func scenario(
        seconds: Int, networks: [Scenario.Network], accessPoints: [Scenario.AccessPoint],
        _ happenings: [(Double, Scenario.Change)] = []
    ) -> Scenario {
        var scenario = Scenario(name: "sketch", title: "", about: "", duration: .seconds(seconds))
        scenario.networks = networks
        scenario.accessPoints = accessPoints
        scenario.happenings = happenings.map { Scenario.Happening(at: .seconds($0.0), $0.1) }
        return scenario
    }

    /// Home (preferred, channel 1) and Backup (channel 6).
    static func house(
        seconds: Int, _ happenings: [(Double, Scenario.Change)] = [], home: Int = -50, backup: Int = -60
    ) -> Scenario {
        scenario(
            seconds: seconds, networks: [network("Home", isPreferred: true), network("Backup")],
            accessPoints: [
                accessPoint("Home", signal: home), accessPoint("Backup", megahertz: 2437, signal: backup),
            ], happenings)
    }
}

/// A policy that does what it was told beforehand, at given moments and after given events, and keeps what it heard.
struct Scripted: LinkPolicy {
    final class Log {
        var heard: [(at: Int64, event: PolicyEvent)] = []
        var policies = 0

        func moments(_ isMeant: (PolicyEvent) -> Bool) -> [Int64] { heard.filter { isMeant($0.event) }.map(\.at) }
    }

    private let log: Log
    private var orders: [(at: Int64, action: PolicyAction)]
    private let reaction: (PolicyEvent) -> [PolicyAction]

    /// - Parameter orders: milliseconds, in their order.
    init(_ log: Log, _ orders: [(Int64, PolicyAction)], reaction: @escaping (PolicyEvent) -> [PolicyAction]) {
        self.log = log
        self.orders = orders.map { (at: $0.0, action: $0.1) }
        self.reaction = reaction
        log.policies += 1
    }

    mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction] {
        if event != .tick { log.heard.append((now.milliseconds, event)) }
        let due = orders.prefix { $0.at <= now.milliseconds }.map(\.action)
        orders.removeFirst(due.count)
        return due + reaction(event)
    }

    var nextWake: Instant? { orders.first.map { Instant(milliseconds: $0.at) } }

    /// Runs a scenario under such a policy.
    static func run(
        _ scenario: Scenario, seed: UInt64 = 1, _ orders: [(Int64, PolicyAction)],
        reaction: @escaping (PolicyEvent) -> [PolicyAction] = { _ in [] }
    ) -> (log: Log, result: RunResult) {
        let log = Log()
        let result = Simulation.run(scenario, seed: seed, policyName: "scripted") { _ in
            Scripted(log, log.policies == 0 ? orders : [], reaction: reaction)
        }
        return (log, result)
    }
}

extension PolicyAction {
    /// Joins a network of the scenario by its number, from 1.
    static func join(_ number: Int, on megahertz: [Int] = [], epoch: UInt64 = 1) -> PolicyAction {
        .join(
            LinkTarget(
                network: NetworkID(number), bssid: nil, frequencies: megahertz.map(Frequency.init(megahertz:)),
                offer: nil, epoch: epoch))
    }

    static func scan(_ megahertz: [Int] = [], id: UInt64 = 1, calling names: [SSID] = []) -> PolicyAction {
        .scan(
            ScanOrder(
                id: id, frequencies: megahertz.map(Frequency.init(megahertz:)), ssids: names, reason: .offline))
    }
}
