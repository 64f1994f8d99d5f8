import ArgumentParser
import Simulation

struct BenchPolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-policy", abstract: "Holds altnet's policy against the others and against the optimum.",
        discussion: """
            Every scenario of the library is run by altnet's policy, by models of other connection managers, and by an \
            oracle that knows the future and loses as little as physics allows. Printed are seconds of cost and outage and the moves \
            of a day for each of them, and how near altnet is to its goals. Docs/results/policy-benchmark.md says what \
            the figures mean.
            """)

    @Argument(help: "Scenarios by name or file; the whole library if none is given.")
    var scenarios: [String] = []

    @Option(help: "How many passes of each scenario, each with other noise. (default: 3, with --random 1)")
    var seeds: Int?

    @Option(help: "Instead of the library, so many scenarios that are drawn.")
    var random: Int?

    @Option(help: "The number of the first drawn scenario, which is random-NUMBER by name. Drawn if it is not given.")
    var seed: UInt64?

    @Flag(help: "Also judge by the measure with each of its weights halved and doubled.")
    var weights = false

    @Option(help: "Give altnet a second station, as ALTNET_STANDBY does: when-weak or always. The others have one.")
    var standby: Standby?

    enum Standby: String, CaseIterable, ExpressibleByArgument {
        case whenWeak = "when-weak"
        case always
    }

    @Option(help: "Instead, measure how long a decision takes on this machine with so many access points in range.")
    var accessPoints: Int?

    @OptionGroup
    private var parallel: JobsOption

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        if !(1...1000).contains(seeds ?? 1) { throw ValidationError("run 1 to 1000 seeds") }
        if let random, !(1...100_000).contains(random) { throw ValidationError("draw 1 to 100000 scenarios") }
        if let accessPoints, !(1...65_536).contains(accessPoints) {
            throw ValidationError("measure with 1 to 65536 access points")
        }
        if random != nil, !scenarios.isEmpty { throw ValidationError("name scenarios, or have them drawn") }
        if seed != nil, random == nil { throw ValidationError("--seed is for --random") }
        for name in scenarios {
            if let unknown = UnknownScenario(name) { throw ValidationError("\(unknown)") }
        }
    }

    func run() async throws {
        if let accessPoints { return try measureDecisions(with: accessPoints) }
        let first = seed ?? UInt64.random(in: 0..<1_000_000_000)
        let scenarios = try chosen(first).map(withStandby)
        let runs = seeds ?? (random == nil ? 3 : 1)
        let start = ContinuousClock.now
        var progress = Progress("of \(scenarios.count * runs) passes", wanted: Double(scenarios.count * runs))
        let comparisons = await ComparisonPlan(scenarios, seed: random == nil ? 1 : first, runs: runs, weighs: weights)
            .run(jobs: parallel.jobs) { progress.add(1) }
        progress.end()
        let goals = PolicyGoals(
            of: comparisons, hard: Set(scenarios.filter(\.isHard).map(\.name)), isRandom: random != nil,
            hasSecondStation: standby != nil)
        if json { return try printJSON(comparisons, goals, first) }
        if random == nil {
            for comparison in comparisons {
                print(ComparisonTable(comparison).render(.terminal), terminator: "\n\n")
            }
        }
        print(goals.render(.terminal, limit: random == nil ? nil : Self.limit))
        let passes = scenarios.count * runs * (Peer.all.count + 3)
        print("\n\(passes) passes in \((ContinuousClock.now - start).components.seconds) s")
        if let random {
            print("drawn: random-\(first) and the \(random - 1) that follow; the same again with --seed \(first)")
        }
    }

    /// Number of random scenarios in the output, worst first.
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
            throw SimulateCommand.Failure("the device got no link")
        }
        print(
            "a scan with \(accessPoints) access points: \(milliseconds(times.median)) in the median, "
                + "\(milliseconds(times.worst)) at worst (wanted: at most 5 ms)")
    }

    private func milliseconds(_ time: Duration) -> String {
        "\((time / .milliseconds(1)).fixed(3)) ms"
    }

    private func printJSON(_ comparisons: [Comparison], _ goals: PolicyGoals, _ first: UInt64) throws {
        let report = Report(
            seed: random == nil ? nil : first, comparisons: ComparisonsDocument(comparisons).comparisons,
            standings: goals.scores, goals: goals.goals)
        print(try JSONText.of(report))
    }

    private struct Report: Encodable {
        /// Number of the first random scenario.
        let seed: UInt64?
        let comparisons: [ComparisonDocument]
        let standings: [PolicyGoals.ScenarioScore]
        let goals: [PolicyGoals.Goal]
    }
}
