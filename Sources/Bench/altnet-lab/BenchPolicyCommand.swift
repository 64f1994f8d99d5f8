import ArgumentParser
import Simulation

struct BenchPolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-policy", abstract: "Compares altnet's policy with other policies and with the optimum.",
        discussion: """
            Runs every scenario of the library with altnet's policy, with models of other connection managers, and \
            with two oracles: one knows the future, the other reacts to it. For each of them it prints the cost and \
            the outage in seconds a day and the moves a day, then altnet's regret: its cost less that of the oracle \
            that reacts. To judge a change of the policy, run the command with --json before it and with --before \
            after it. Docs/results/policy-benchmark.md explains the figures.
            """)

    @Argument(help: "Names or files of scenarios (default: the whole library).")
    var scenarios: [String] = []

    @Option(help: "Passes of each scenario, each with other noise (default: 3, with --random 1).")
    var seeds: Int?

    @Option(help: "Use this many random scenarios instead of the library.")
    var random: Int?

    @Option(help: "The number of the first random scenario, named random-NUMBER (default: random).")
    var seed: UInt64?

    @Option(help: "Compare with the output of an earlier run with --json, the same scenarios and the same seeds.")
    var before: String?

    @Flag(help: "Also rate with each weight of the cost halved and doubled.")
    var weights = false

    @Option(
        help: "Give altnet a second station, like ALTNET_STANDBY: when-weak or always. The others have one station.")
    var standby: Standby?

    enum Standby: String, CaseIterable, ExpressibleByArgument {
        case whenWeak = "when-weak"
        case always
    }

    @Option(help: "Only measure how long a decision takes on this machine with this many access points in range.")
    var accessPoints: Int?

    @OptionGroup
    private var parallel: JobsOption

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        if !(1...1000).contains(seeds ?? 1) { throw ValidationError("--seeds must be 1 to 1000") }
        if let random, !(1...100_000).contains(random) { throw ValidationError("--random must be 1 to 100000") }
        if let accessPoints, !(1...65_536).contains(accessPoints) {
            throw ValidationError("--access-points must be 1 to 65536")
        }
        if random != nil, !scenarios.isEmpty { throw ValidationError("give either scenarios or --random") }
        if seed != nil, random == nil { throw ValidationError("--seed needs --random") }
        for name in scenarios {
            if let unknown = UnknownScenario(name) { throw ValidationError("\(unknown)") }
        }
    }

    func run() async throws {
        if let accessPoints { return try measureDecisions(with: accessPoints) }
        let first = seed ?? UInt64.random(in: 0..<1_000_000_000)
        let scenarios = try chosen(first).map(withStandby)
        let runs = seeds ?? (random == nil ? 3 : 1)
        let firstSeed = random == nil ? 1 : first
        let earlier = try before.map { file in
            try PolicyBaseline(
                contentsOf: file, scenarios: scenarios.map(\.name), seeds: (0..<runs).map { firstSeed &+ UInt64($0) })
        }
        let start = ContinuousClock.now
        var progress = Progress("of \(scenarios.count * runs) passes", wanted: Double(scenarios.count * runs))
        let comparisons = await ComparisonPlan(scenarios, seed: firstSeed, runs: runs, weighs: weights)
            .run(jobs: parallel.jobs) { progress.add(1) }
        progress.end()
        let goals = PolicyGoals(of: comparisons, before: earlier, isRandom: random != nil)
        if json {
            let report = PolicyReport(comparisons, goals, firstRandom: random == nil ? nil : first)
            return print(try JSONText.of(report))
        }
        if random == nil {
            for comparison in comparisons {
                print(ComparisonTable(comparison).render(.terminal), terminator: "\n\n")
            }
        }
        print(goals.render(.terminal, limit: random == nil ? nil : Self.limit))
        let passes = scenarios.count * runs * (Peer.all.count + 3)
        print("\n\(passes) passes in \((ContinuousClock.now - start).components.seconds) s")
        if let random {
            print("random scenarios: random-\(first) and the next \(random - 1); to repeat them, use --seed \(first)")
        }
    }

    /// Maximum number of random scenarios in the output, worst first.
    private static let limit = 40

    private func chosen(_ first: UInt64) throws -> [Scenario] {
        do throws(ScenarioError) {
            if let random {
                var drawn: [Scenario] = []
                for number in 0..<random { drawn.append(try RandomScenario(first &+ UInt64(number)).scenario()) }
                return drawn
            }
            return scenarios.isEmpty ? try ScenarioLibrary.all() : try scenarios.map(ScenarioLibrary.scenario(named:))
        } catch {
            throw SimulateCommand.Failure("\(error)")
        }
    }

    private func withStandby(_ scenario: Scenario) -> Scenario {
        guard let standby else { return scenario }
        var scenario = scenario
        scenario.radio.stations = 2
        scenario.settings.keepsStandby = standby == .always
        return scenario
    }

    private func measureDecisions(with accessPoints: Int) throws {
        guard let times = CrowdBenchmark(accessPoints: accessPoints).run() else {
            throw SimulateCommand.Failure("the simulated device got no link")
        }
        print(
            "a scan with \(accessPoints) access points: \(milliseconds(times.median)) in the median, "
                + "\(milliseconds(times.worst)) at worst (wanted: at most 5 ms)")
    }

    private func milliseconds(_ time: Duration) -> String {
        "\((time / .milliseconds(1)).fixed(3)) ms"
    }
}
