public struct RunPlan {
    public enum Extent: Sendable {
        case passes(Int)
        /// Hours per scenario, divided into runs.
        case hours(Int)
    }

    private let scenarios: [Scenario]
    private let seed: UInt64
    private let extent: Extent
    private let recordsFirst: Bool

    public struct Outcome: Sendable {
        public let totals: [RunTotals]
        /// Result of the first run, with a timeline if requested; nil without runs.
        public let first: RunResult?
    }

    public typealias Runner = @Sendable (Scenario, _ seed: UInt64, Duration, _ recordsTimeline: Bool) -> RunResult

    /// - Parameters:
    ///   - seed: seed of each scenario's first run. Later runs have the next seeds.
    ///   - recordsFirst: whether to record the timeline of the first scenario's first run.
    public init(_ scenarios: [Scenario], seed: UInt64, extent: Extent, recordsFirst: Bool) {
        self.scenarios = scenarios
        self.seed = seed
        self.extent = extent
        self.recordsFirst = recordsFirst
    }

    private struct Run: Sendable {
        let scenario: Int
        let number: Int
        let duration: Duration

        var isFirst: Bool { scenario == 0 && number == 0 }
    }

    public var duration: Duration { scenarios.indices.reduce(.zero) { $0 + duration(of: $1) } }

    /// - Parameters:
    ///   - jobs: number of parallel runs.
    ///   - progress: called with the length of each finished run.
    public func run(jobs: Int, by runner: @escaping Runner, progress: (Duration) -> Void = { _ in }) async -> Outcome {
        var totals = [RunTotals?](repeating: nil, count: scenarios.count)
        var first: RunResult?
        let (scenarios, seed, recordsFirst) = (scenarios, seed, recordsFirst)
        let work = Work(scenarios.indices.lazy.flatMap(runs)) { run in
            runner(scenarios[run.scenario], seed &+ UInt64(run.number), run.duration, recordsFirst && run.isFirst)
        }
        await work.run(jobs: jobs) { run, result in
            if run.isFirst { first = result }
            if totals[run.scenario]?.add(result) == nil { totals[run.scenario] = RunTotals(result) }
            progress(run.duration)
        }
        return Outcome(totals: totals.compactMap(\.self), first: first)
    }

    private func duration(of scenario: Int) -> Duration {
        switch extent {
        case .passes(let count): scenarios[scenario].duration * count
        case .hours(let hours): .seconds(hours) * 3600
        }
    }

    /// Returns the runs of a scenario. With `hours`, a run has at least one pass. It is short enough to share the work
    /// and show progress.
    private func runs(of scenario: Int) -> [Run] {
        let pass = scenarios[scenario].duration
        let all = duration(of: scenario)
        let life =
            switch extent {
            case .passes: pass
            case .hours: min(all, max(pass, min(all / 64, .seconds(1000 * 3600))))
            }
        return sequence(first: Duration.zero) { $0 + life }.prefix { $0 < all }.enumerated().map { number, start in
            Run(scenario: scenario, number: number, duration: min(life, all - start))
        }
    }
}

/// Plan to run passes of each scenario with all policies and the oracles.
public struct ComparisonPlan: Sendable {
    private let scenarios: [Scenario]
    private let seed: UInt64
    private let runs: Int
    private let weighs: Bool

    /// - Parameters:
    ///   - seed: seed of each scenario's first pass. Later passes have the next seeds.
    ///   - weighs: whether to halve and double each weight of the measure.
    public init(_ scenarios: [Scenario], seed: UInt64, runs: Int, weighs: Bool = false) {
        self.weighs = weighs
        self.scenarios = scenarios
        self.seed = seed
        self.runs = runs
    }

    private struct Pass: Sendable {
        let scenario: Int
        let seed: UInt64
    }

    /// - Parameters:
    ///   - jobs: number of parallel passes.
    ///   - progress: called when all policies have run a pass.
    public func run(jobs: Int, progress: () -> Void = {}) async -> [Comparison] {
        var heats = [[Heat]](repeating: [], count: scenarios.count)
        let (scenarios, seed, runs, weighs) = (scenarios, seed, runs, weighs)
        let passes = scenarios.indices.lazy.flatMap { scenario in
            (0..<runs).lazy.map { Pass(scenario: scenario, seed: seed &+ UInt64($0)) }
        }
        await Work(passes) { Heat(scenarios[$0.scenario], seed: $0.seed, weighs: weighs) }.run(jobs: jobs) {
            pass, heat in
            heats[pass.scenario].append(heat)
            progress()
        }
        // Sort, so that sums do not depend on the order in which tasks finish.
        return zip(scenarios, heats).map { Comparison(of: $0, $1.sorted { $0.seed < $1.seed }) }
    }
}

struct Work<Items: Sequence, Result: Sendable> where Items.Element: Sendable {
    private let items: Items
    private let work: @Sendable (Items.Element) -> Result

    init(_ items: Items, work: @escaping @Sendable (Items.Element) -> Result) {
        self.items = items
        self.work = work
    }

    /// - Parameters:
    ///   - jobs: number of parallel tasks.
    ///   - receive: called with each item and its result, in any order.
    func run(jobs: Int, receive: (Items.Element, Result) -> Void) async {
        await withTaskGroup(of: (Items.Element, Result).self) { [work] group in
            var waiting = items.makeIterator()
            func begin() {
                guard let item = waiting.next() else { return }
                group.addTask { (item, work(item)) }
            }
            for _ in 0..<jobs { begin() }
            while let (item, result) = await group.next() {
                begin()
                receive(item, result)
            }
        }
    }
}
