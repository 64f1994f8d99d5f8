import ArgumentParser
import Glibc
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

    @Option(help: "How many runs at once.")
    var jobs = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        if !(1...1000).contains(seeds) { throw ValidationError("run 1 to 1000 seeds") }
        if !(1...256).contains(jobs) { throw ValidationError("run 1 to 256 jobs at once") }
    }

    func run() async throws {
        let scenarios = try chosen()
        let start = ContinuousClock.now
        let comparisons = await compared(scenarios)
        let goals = PolicyGoals(of: comparisons, hard: Set(scenarios.filter(\.isHard).map(\.name)))
        if json {
            try printJSON(comparisons, goals)
        } else {
            let style = TextStyle(hasColour: isatty(STDOUT_FILENO) == 1)
            for comparison in comparisons { print(ComparisonTable(comparison).render(style), terminator: "\n\n") }
            print(goals.render(style))
            let passes = scenarios.count * seeds * (Peer.all.count + 2)
            print("\n\(passes) passes in \((ContinuousClock.now - start).components.seconds) s")
        }
    }

    private func chosen() throws -> [Scenario] {
        do {
            return scenarios.isEmpty
                ? try ScenarioLibrary.all() : try scenarios.map { name in try ScenarioLibrary.scenario(named: name) }
        } catch let error as ScenarioError {
            throw ValidationError("\(error)")
        }
    }

    /// Runs every seed of every scenario, as many at once as there are jobs.
    private func compared(_ scenarios: [Scenario]) async -> [Comparison] {
        let work = scenarios.indices.flatMap { index in (1...UInt64(seeds)).map { (index, $0) } }
        var heats = [[Heat]](repeating: [], count: scenarios.count)
        await withTaskGroup(of: (Int, Heat).self) { group in
            var waiting = work[...]
            func begin() {
                guard let (index, seed) = waiting.popFirst() else { return }
                let scenario = scenarios[index]
                group.addTask { (index, Heat(scenario, seed: seed)) }
            }
            for _ in 0..<jobs { begin() }
            for await (index, heat) in group {
                heats[index].append(heat)
                begin()
                showProgress(heats.map(\.count).reduce(0, +), of: work.count)
            }
        }
        // Whoever finished first: the sums are the same in every run.
        return zip(scenarios, heats).map { Comparison(of: $0, $1.sorted { $0.seed < $1.seed }) }
    }

    private func showProgress(_ done: Int, of all: Int) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        let text = done == all ? "\r\u{1b}[K" : "\r\(done) of \(all) passes"
        _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }

    private func printJSON(_ comparisons: [Comparison], _ goals: PolicyGoals) throws {
        let report = Report(
            comparisons: ComparisonsDocument(comparisons).comparisons, standings: goals.standings, goals: goals.goals)
        print(try JSONText.of(report))
    }

    private struct Report: Encodable {
        let comparisons: [ComparisonDocument]
        let standings: [PolicyGoals.Standing]
        let goals: [PolicyGoals.Goal]
    }
}
