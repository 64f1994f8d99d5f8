import AgentCore
import AgentModel
import AppProtocol
import CLinux
import Failover
import Glibc
import KeyFile

/// Runs the agent's core through a house's life, day by day, with a key file.
package struct EnduranceRun {
    /// Figures of one day, or of the hour.
    package struct Day: Sendable, Codable {
        package var outage = 0.0
        /// Outage of the optimum that reacts, in seconds.
        package var optimum = 0.0
        package var restarts = 0
        /// Log lines that a device writes with its usual settings.
        package var logLines = 0
        /// Events of the policy: each wakes the processor.
        package var events = 0
        package var commits = 0
        package var timers = 0
        /// Allocated memory of this process in KiB.
        package var memory = 0
        /// Switches and changes of networks that the app ordered. Each may write the key file at once.
        package var orders = 0
    }

    private enum Change {
        case agentDies(backAfter: Int64, isPowerCut: Bool)
        case diskFull(Bool)
        case diskSlow(Bool)
        case clock(Int64)
        /// The app sends the current password again if the device has another one.
        case retry
    }

    private let life: HouseLife
    private let store: any DeviceStore
    private var run: DeviceRun<AgentRunner>
    private var changes: ArraySlice<(at: Int64, change: Change)>
    private var before = Day()
    private var restarts = 0

    /// - Parameter onRecord: called with each event and action of the policy; with nil when the agent starts.
    package init(
        _ life: HouseLife, store: any DeviceStore, onRecord: @escaping (PolicyEvent?, [PolicyAction], Instant) -> Void
    ) throws {
        (self.life, self.store) = (life, store)
        let world = World(try life.scenario(), seed: life.seed)
        try store.commit(StoredState(of: world))
        changes = Self.changes(of: life)[...]
        var runner = AgentRunner(
            world, stations: 1, environment: AgentRunner.Environment(state: store.state, store: store))
        runner.onRecord = onRecord
        let account = Account(
            RunResult(scenario: world.scenario.name, policy: Simulation.altnet, seed: life.seed), world: world,
            isRecording: life.span == .hour)
        run = DeviceRun(
            device: SimulatedDevice(
                in: world, stations: 1, timing: StackTiming(), horizon: Simulation.horizon.milliseconds,
                account: account), runner: runner)
    }

    package var core: AgentCore { run.runner.core }

    private static func changes(of life: HouseLife) -> [(at: Int64, change: Change)] {
        var changes: [(at: Int64, change: Change)] = []
        for happening in life.happenings {
            let (at, end) = (Int64(happening.at) * 1000, Int64(happening.end) * 1000)
            switch happening.kind {
            case .agentKilled, .powerCut:
                changes.append(
                    (at, .agentDies(backAfter: end - at, isPowerCut: happening.kind == .powerCut)))
            case .diskFull: changes += [(at, .diskFull(true)), (end, .diskFull(false))]
            case .diskSlow: changes += [(at, .diskSlow(true)), (end, .diskSlow(false))]
            case .clockSteps: changes.append((at, .clock(Int64(happening.seconds) * 1000)))
            default: break
            }
        }
        // An app that was not answered asks again.
        changes += stride(from: 60_000, to: Int64(life.span.seconds) * 1000, by: 60_000).map { ($0, .retry) }
        return changes.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// Runs the next day.
    package mutating func runDay(until end: Int64) -> Day {
        while let next = changes.first, next.at < end {
            run.run(until: next.at)
            apply(next.change)
            run.handleReports()
            changes.removeFirst()
        }
        run.run(until: end)
        run.device.settle()
        let now = totals
        defer { before = now }
        var day = Day()
        day.outage = now.outage - before.outage
        day.restarts = now.restarts - before.restarts
        day.logLines = now.logLines - before.logLines
        day.events = now.events - before.events
        day.commits = now.commits - before.commits
        day.orders = now.orders - before.orders
        (day.timers, day.memory) = (run.runner.armedTimers, Self.allocatedMemory)
        return day
    }

    private var totals: Day {
        var day = Day()
        day.outage = run.device.account.lost / 1000
        (day.restarts, day.events) = (restarts, run.device.account.result.events)
        let runner = run.runner
        (day.logLines, day.commits, day.orders) = (runner.logLines, runner.commits, runner.orders)
        return day
    }

    /// Outages in milliseconds since the start; only of an hour.
    package mutating func outages() -> [Range<Int64>] {
        let result = run.device.account.close(at: run.device.now)
        return (result.timeline?.outages ?? []).map { $0.lowerBound.milliseconds..<$0.upperBound.milliseconds }
    }

    private mutating func apply(_ change: Change) {
        switch change {
        case .agentDies(let time, let isPowerCut):
            restarts += 1
            store.reopen(afterPowerCut: isPowerCut)
            run.device.killAgent(backAfter: time)
        case .diskFull(let isFull): store.isFull = isFull
        case .diskSlow(let isSlow): run.runner.commitTime = isSlow ? 5000 : 0
        case .clock(let step): run.runner.clockShift += step
        case .retry: run.runner.retryPassword(&run.device)
        }
    }

    /// Returns the outage in seconds of the optimum that reacts, on a day of the life.
    package static func optimum(_ life: HouseLife, day: Int) throws(ScenarioError) -> Double {
        let scenario = try life.scenario(day: life.span == .hour ? nil : day)
        let outcome = Oracle.run(scenario, seed: life.seed &+ UInt64(day), foresight: .none)
        return Double(outcome.outage.milliseconds) / 1000
    }

    /// Memory that this process has allocated and not freed, in KiB. Resident memory would also show what the allocator
    /// keeps.
    private static var allocatedMemory: Int {
        let heap = mallinfo2()
        return (heap.uordblks + heap.hblkhd) / 1024
    }
}
