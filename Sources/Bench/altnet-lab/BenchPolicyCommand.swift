import ArgumentParser
import Simulation

struct BenchPolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-policy", abstract: "Holds altnet's policy against the others and against the optimum.",
        discussion: """
            Every scenario of the library is run by altnet's policy, by models of other connection managers, and by an \
            oracle that knows the future and loses as little as physics allows. Printed are seconds of outage and switches \
            of a day for each of them, and how near altnet is to its goals. Docs/policy-benchmark.md says what the \
            figures mean.
            """)

    @Argument(help: "Scenarios by name or file; the whole library if none is given.")
    var scenarios: [String] = []

    @Option(help: "How many passes of each scenario, each with other noise.")
    var seeds = 3

    @OptionGroup
    private var parallel: JobsOption

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        if !(1...1000).contains(seeds) { throw ValidationError("run 1 to 1000 seeds") }
        for name in scenarios {
            if let unknown = UnknownScenario(name) { throw ValidationError("\(unknown)") }
        }
    }

    func run() async throws {
        let scenarios = try chosen()
        let start = ContinuousClock.now
        var progress = Progress("of \(scenarios.count * seeds) passes", wanted: Double(scenarios.count * seeds))
        let comparisons = await ComparisonPlan(scenarios, seed: 1, runs: seeds).run(jobs: parallel.jobs) {
            progress.add(1)
        }
        progress.end()
        let goals = PolicyGoals(of: comparisons, hard: Set(scenarios.filter(\.isHard).map(\.name)))
        if json { return try printJSON(comparisons, goals) }
        for comparison in comparisons { print(ComparisonTable(comparison).render(.terminal), terminator: "\n\n") }
        print(goals.render(.terminal))
        let passes = scenarios.count * seeds * (Peer.all.count + 2)
        print("\n\(passes) passes in \((ContinuousClock.now - start).components.seconds) s")
    }

    private func chosen() throws -> [Scenario] {
        do throws(ScenarioError) {
            return scenarios.isEmpty ? try ScenarioLibrary.all() : try scenarios.map(ScenarioLibrary.scenario(named:))
        } catch {
            throw SimulateCommand.Failure("\(error)")
        }
    }

    private func printJSON(_ comparisons: [Comparison], _ goals: PolicyGoals) throws {
        let report = Report(
            comparisons: ComparisonsDocument(comparisons).comparisons, standings: goals.scores, goals: goals.goals)
        print(try JSONText.of(report))
    }

    private struct Report: Encodable {
        let comparisons: [ComparisonDocument]
        let standings: [PolicyGoals.ScenarioScore]
        let goals: [PolicyGoals.Goal]
    }
}
