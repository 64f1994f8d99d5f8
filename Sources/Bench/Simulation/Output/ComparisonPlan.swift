/// Every policy and the oracle through the same air, so many passes of each scenario.
public struct ComparisonPlan: Sendable {
    private let scenarios: [Scenario]
    private let seed: UInt64
    private let runs: Int

    /// - Parameter seed: of each scenario's first pass; the others have the numbers that follow.
    public init(_ scenarios: [Scenario], seed: UInt64, runs: Int) {
        self.scenarios = scenarios
        self.seed = seed
        self.runs = runs
    }

    private struct Pass: Sendable {
        let scenario: Int
        let seed: UInt64
    }

    /// - Parameters:
    ///   - jobs: how many passes at once.
    ///   - progress: called when a pass has been run by everybody.
    public func run(jobs: Int, progress: () -> Void = {}) async -> [Comparison] {
        var heats = [[Heat]](repeating: [], count: scenarios.count)
        let (scenarios, seed, runs) = (scenarios, seed, runs)
        let passes = scenarios.indices.lazy.flatMap { scenario in
            (0..<runs).lazy.map { Pass(scenario: scenario, seed: seed &+ UInt64($0)) }
        }
        await Work(passes) { Heat(scenarios[$0.scenario], seed: $0.seed) }.run(jobs: jobs) { pass, heat in
            heats[pass.scenario].append(heat)
            progress()
        }
        // Whoever finished first: the sums are the same in every run.
        return zip(scenarios, heats).map { Comparison(of: $0, $1.sorted { $0.seed < $1.seed }) }
    }
}
