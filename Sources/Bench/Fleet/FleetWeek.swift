import AgentModel
import AppProtocol
import FleetOperator
import MQTTBridge
import Simulation

/// Some days of a fleet in virtual time. The provider fails twice a day, one of the broker's three nodes dies each
/// night, and all devices get a new password in the middle.
package struct FleetWeek {
    package struct Settings: Sendable {
        package var devices: Int
        package var first = 0
        package var days = 7
        package var seed: UInt64 = 1
        package var scenario: Scenario

        package init(devices: Int, scenario: Scenario) { (self.devices, self.scenario) = (devices, scenario) }
    }

    package struct Result: Sendable {
        package var outages = 0
        package var nodesKilled = 0
        /// Devices whose node was killed.
        package var cutOff = 0
        /// Devices that were not back within ``returnLimit`` after an outage or a killed node.
        package var late = 0
        /// Longest time in seconds until all devices were back.
        package var longestReturn = 0.0
        package var rotation = RotationOutcome()
        /// Devices in the operator's record, by phase.
        package var operatorCommitted = 0
        package var operatorUndone = 0
        package var lostMessages = 0
        package var connectsBySecond: [Int: Int] = [:]
        package var attemptsBySecond: [Int: Int] = [:]

        package init() {}

        package static func + (left: Result, right: Result) -> Result {
            var sum = left
            sum.outages = max(left.outages, right.outages)
            sum.nodesKilled = max(left.nodesKilled, right.nodesKilled)
            sum.cutOff += right.cutOff
            sum.late += right.late
            sum.longestReturn = max(left.longestReturn, right.longestReturn)
            sum.rotation = left.rotation + right.rotation
            sum.operatorCommitted += right.operatorCommitted
            sum.operatorUndone += right.operatorUndone
            sum.lostMessages += right.lostMessages
            sum.connectsBySecond.merge(right.connectsBySecond, uniquingKeysWith: +)
            sum.attemptsBySecond.merge(right.attemptsBySecond, uniquingKeysWith: +)
            return sum
        }

        package var peak: Int { connectsBySecond.values.max() ?? 0 }
        package var attemptPeak: Int { attemptsBySecond.values.max() ?? 0 }
        package var connects: Int { connectsBySecond.values.reduce(0, +) }
    }

    private enum Incident { case outage(Duration), nodeDeath(Int), change }

    package static let nodes = 3
    package static let returnLimit = Duration.seconds(300)
    private static let nodeDown = Duration.seconds(1800)
    private static let change = RotationChange(changeId: "2026-12", ssid: "Home", password: "correct-horse-2")
    /// Seconds for which devices keep both passwords.
    private static let keepFor = 7200

    private let settings: Settings
    private let fleet: Fleet
    private let broker: SimulatedBroker
    private var owner: Rollout?
    private var result = Result()

    /// Limit of accepted connections a second: N devices in 25 s, and five standard deviations of that number.
    package static func budget(of devices: Int) -> Int {
        let mean = Double(devices) / 25
        return Int(mean + 5 * mean.squareRoot())
    }

    package init(_ settings: Settings) throws {
        self.settings = settings
        broker = SimulatedBroker(devices: settings.devices, first: settings.first, nodes: Self.nodes)
        var fleet = Fleet.Settings(devices: settings.devices, scenario: settings.scenario)
        fleet.first = settings.first
        // Signals are constant here, and samples would take most of the time.
        fleet.scenario.settings.calmSampling = .seconds(3600)
        self.fleet = try Fleet(fleet, over: broker)
    }

    /// Returns the incidents by their second, the same for every part of a fleet. The change begins a minute before an
    /// outage.
    private var incidents: [(second: Int64, Incident)] {
        var all: [(Int64, Incident)] = []
        func part(_ day: Int, _ salt: UInt64, _ range: Range<Int64>) -> Int64 {
            range.lowerBound
                + RotationScenario.part(of: day, salt: settings.seed &* 100 + salt, range.upperBound - range.lowerBound)
        }
        for day in 0..<settings.days {
            let midnight = Int64(day) * 86_400
            all.append((midnight + part(day, 0, 3600..<14_400), .nodeDeath(day % Self.nodes)))
            let morning = midnight + part(day, 1, 28_800..<43_200)
            if day == settings.days / 2 { all.append((morning - 60, .change)) }
            all.append((morning, .outage(.seconds(part(day, 2, 10..<1800)))))
            all.append((midnight + part(day, 3, 64_800..<79_200), .outage(.seconds(part(day, 4, 10..<1800)))))
        }
        return all
    }

    package mutating func run(log: (String) -> Void = { _ in }) throws -> Result {
        fleet.start(max(1, settings.devices / 25))
        for (second, incident) in incidents {
            pass(until: Instant(milliseconds: second * 1000))
            switch incident {
            case .outage(let length):
                result.outages += 1
                fleet.cut()
                fleet.countReturns()
                pass(until: fleet.now + length)
                fleet.restore()
                awaitReturn()
            case .nodeDeath(let node):
                result.nodesKilled += 1
                broker.kill(node)
                pass(until: fleet.now + .seconds(1))
                fleet.countReturns()
                result.cutOff += settings.devices - fleet.connected
                let began = fleet.now
                awaitReturn()
                pass(until: began + Self.nodeDown)
                broker.restart(node)
            case .change: try beginChange()
            }
            reviewOwner()
            log("day \(second / 86_400 + 1), \(second / 3600 % 24) h: \(fleet.connected) connected after \(incident)")
        }
        pass(until: Instant(milliseconds: Int64(settings.days) * 86_400_000))
        result.rotation = fleet.stagedOutcome
        reviewOwner()
        result.lostMessages = fleet.lostMessages
        (result.connectsBySecond, result.attemptsBySecond) = (fleet.connectsBySecond, fleet.attemptsBySecond)
        return result
    }

    /// Runs until every device was connected once, or the limit is over.
    private mutating func awaitReturn() {
        let began = fleet.now
        while fleet.returned < settings.devices, fleet.now < began + Self.returnLimit { turn() }
        result.late += settings.devices - fleet.returned
        result.longestReturn = max(result.longestReturn, Double((fleet.now - began).milliseconds) / 1000)
    }

    private mutating func pass(until end: Instant) { while fleet.now < end { turn(until: end) } }

    /// Runs the fleet for a short time, then the owner.
    private mutating func turn(until end: Instant? = nil) {
        let step = fleet.now + (owner == nil ? .milliseconds(1000) : .milliseconds(100))
        fleet.turn(until: min(end ?? step, step))
        // Change the owner in place: a copy of its records for each message would take long.
        for message in broker.drainInbox() { broker.publish(owner?.handle(message, at: fleet.now) ?? []) }
        if let deadline = owner?.deadline, deadline <= fleet.now { broker.publish(owner?.tick(at: fleet.now) ?? []) }
    }

    /// Disconnects the owner once every device has answered.
    private mutating func reviewOwner() {
        guard let owner else { return }
        result.operatorCommitted = owner.record[.committed]
        result.operatorUndone = owner.record[.undone]
        guard owner.isOver else { return }
        broker.disconnectOperator()
        self.owner = nil
    }

    private mutating func beginChange() throws {
        fleet.begin(Self.change)
        let staging = PasswordStaging(
            changeId: Self.change.changeId,
            network: NewNetwork(ssid: try SSID(Self.change.ssid), password: Secret(text: Self.change.password)),
            keepFor: Self.keepFor)
        var keys: [String: DeviceKey] = [:]
        for number in settings.first..<settings.first + settings.devices {
            keys[Fleet.id(number)] = try Fleet.key(of: number)
        }
        var owner = Rollout(
            FleetChange(staging), .apply, keys: keys, run: "week", nonce: Nonce.random,
            time: { [clock = broker.clock] in clock.time })
        _ = owner.connected(at: fleet.now)
        self.owner = owner
        broker.connectOperator()
    }
}
