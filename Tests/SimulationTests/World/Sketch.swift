import AgentModel
import Failover
import Randomness

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

/// Scenarios in which anything may happen at any time.
struct RandomScenario {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    static func scenario(seed: UInt64, seconds: Int) -> Scenario {
        var maker = RandomScenario(seed: seed)
        return maker.scenario(seconds: seconds)
    }

    private mutating func scenario(seconds: Int) -> Scenario {
        let names = ["A", "B", "C"]
        var scenario = Sketch.scenario(
            seconds: seconds,
            networks: names.enumerated().map {
                Sketch.network($1, isPreferred: $0 == 0, password: $0 == 2 ? nil : "right")
            },
            accessPoints: (0..<Int.random(in: 1...5, using: &random)).map { index in accessPoint(index, names) })
        let labels = scenario.accessPoints.map(\.name)
        scenario.happenings = (0..<Int.random(in: 0...25, using: &random)).map { _ in
            Scenario.Happening(
                at: .milliseconds(Int64.random(in: 0..<Int64(seconds) * 1000, using: &random)),
                change(of: labels.randomElement(using: &random) ?? "", names: names, seconds: seconds))
        }.sorted { $0.at < $1.at }
        if Bool.random(using: &random) { scenario.settings.validation = .init() }
        scenario.radio.stations = Int.random(in: 1...2, using: &random)
        scenario.isBusy = Bool.random(using: &random)
        return scenario
    }

    private mutating func accessPoint(_ index: Int, _ names: [String]) -> Scenario.AccessPoint {
        let name = names.randomElement(using: &random) ?? "A"
        var accessPoint = Sketch.accessPoint(
            name, called: "ap\(index)", megahertz: [2412, 2437, 2462, 5180].randomElement(using: &random) ?? 2412,
            signal: Int.random(in: -95 ... -40, using: &random), password: name == "C" ? nil : "right")
        if Bool.random(using: &random) {
            accessPoint.place = .position(point(), atOneMetre: -40, exponent: Double.random(in: 2...4, using: &random))
        }
        accessPoint.shadowing = [0, 3, 6].randomElement(using: &random) ?? 0
        accessPoint.shadowingTime = .seconds(Int.random(in: 1...90, using: &random))
        accessPoint.fading = Double.random(in: 0...4, using: &random)
        return accessPoint
    }

    private mutating func point() -> Scenario.Point {
        Scenario.Point(x: Double.random(in: -30...30, using: &random), y: Double.random(in: -30...30, using: &random))
    }

    private mutating func change(of label: String, names: [String], seconds: Int) -> Scenario.Change {
        let time = Duration.milliseconds(Int64.random(in: 0..<Int64(seconds) * 500, using: &random))
        let ssid = Sketch.ssid(names.randomElement(using: &random) ?? "A")
        let isSo = Bool.random(using: &random)
        switch Int.random(in: 0..<15, using: &random) {
        case 0, 1: return .power(ap: label, isOn: isSo)
        case 2, 3: return .signal(ap: label, Int.random(in: -95 ... -40, using: &random), over: time)
        case 4: return .internet(ap: label, [.online, .captive, .dead].randomElement(using: &random) ?? .online)
        case 5: return .address(ap: label, isSo ? .milliseconds(300) : nil)
        case 6: return .full(ap: label, isSo)
        case 7: return .password(ap: label, isSo ? "right" : "other")
        case 8: return .newPassword(network: ssid, isSo ? "right" : "other")
        case 9: return .move(to: point(), over: time)
        case 10: return .interference(2400...2483, loss: Double.random(in: 0...1, using: &random), for: time)
        case 11: return .command(network: ssid, confirmWithin: isSo ? .seconds(30) : nil, confirmAfter: .seconds(5))
        case 12: return .otherUplink(isSo ? .wired : nil)
        case 13: return .suspend(for: time / 4)
        default: return isSo ? .restart : .supplicantDies(backAfter: .seconds(3))
        }
    }
}
