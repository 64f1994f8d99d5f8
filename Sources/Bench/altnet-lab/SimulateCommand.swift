import AgentModel
import ArgumentParser
import Glibc
import Simulation

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs the agent through scenarios, thousands of times faster than real time.",
        discussion: """
            A scenario is a place with access points, a device in it, and what happens there: power cuts, fading \
            signals, dead internet lines, changed passwords, commands. The agent's core decides, as on a device; \
            radio, wpa_supplicant, DHCP and time are simulated. The same arguments give the same result. \
            Docs/contributor/simulator.md has the assumptions, and explains how to write a scenario.

            A single run prints its figures and its decisions with their reasons; several runs print the means. /D is \
            per day and /H per hour. OUTAGE is time without use (on a bad link, the share of lost traffic), RETURNS \
            are switches back to the preferred network, ROAMS are changes of access point within a network, AIR % is \
            the share of time in scans, and EVENTS counts the calls of the policy.

            EXAMPLES
              altnet-lab simulate --list
              altnet-lab simulate house-with-repeater --svg picture.svg
              altnet-lab simulate garage --explain
              altnet-lab simulate ./my-flat.scenario --runs 20
              altnet-lab simulate --all --compare
              altnet-lab simulate fleet --hours 1000000

            EXIT STATUS
              0   done
              1   a scenario has a mistake, or a file could not be read or written
              64  the command line is wrong
            """)

    @Argument(help: "Names of scenarios of the library, or paths of .scenario files.")
    var scenarios: [String] = []

    @Flag(help: "Run every scenario of the library.")
    var all = false

    @Flag(help: "Print the names and titles of the library's scenarios.")
    var list = false

    @Option(help: "The seed of the first run; further runs use the next numbers.")
    var seed: UInt64 = 1

    @Option(help: "Passes of each scenario, each with other noise (default: 1, with --compare 5).")
    var runs: Int?

    @Option(
        help:
            "Simulate this many hours of each scenario instead, with devices that repeat it."
    )
    var hours: Int?

    @OptionGroup
    private var parallel: JobsOption

    @Option(help: "The policy to use: \(Decider.names).")
    var policy = Decider.altnet

    @Flag(help: "Compare altnet, models of other connection managers, and the optimum that knows the future.")
    var compare = false

    @Option(help: "Write a picture (SVG) of the first pass to this file; needs a single scenario.")
    var svg: String?

    @Flag(help: "Print each outage of a single run, and the access points of the device and of the optimum.")
    var explain = false

    @Flag(help: "Print JSON: times in seconds, signals in dBm. A single run includes its whole timeline.")
    var json = false

    func validate() throws {
        if list { return }
        if scenarios.isEmpty && !all {
            throw ValidationError("give a scenario or --all; --list shows the scenarios")
        }
        if !scenarios.isEmpty && all { throw ValidationError("give either scenarios or --all") }
        if !(1...1_000_000).contains(runs ?? 1) { throw ValidationError("--runs must be 1 to 1000000") }
        if !(1...1_000_000_000).contains(hours ?? 1) { throw ValidationError("--hours must be 1 to 1000000000") }
        if runs != nil && hours != nil { throw ValidationError("give either --runs or --hours") }
        if svg != nil && (all || scenarios.count > 1) { throw ValidationError("--svg needs a single scenario") }
        if explain && (all || scenarios.count > 1 || (runs ?? 1) > 1 || hours != nil || compare || json) {
            throw ValidationError("--explain needs a single run, and excludes --compare and --json")
        }
        if compare && (hours != nil || svg != nil || policy != .altnet) {
            throw ValidationError("--compare runs every policy, and excludes --policy, --hours and --svg")
        }
        for name in scenarios {
            if let unknown = UnknownScenario(name) { throw ValidationError("\(unknown)") }
        }
    }

    private static func warn(_ text: String) {
        _ = "altnet-lab: \(text)\n".withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }

    func run() async throws {
        do {
            if list { return try printList() }
            let scenarios = try (all ? ScenarioLibrary.names : scenarios).map(ScenarioLibrary.scenario(named:))
            for scenario in scenarios {
                for warning in scenario.warnings { Self.warn("\(scenario.name): \(warning)") }
            }
            if compare { try await printComparisons(of: scenarios) } else { try await printRuns(of: scenarios) }
        } catch let error as ScenarioError {
            throw Failure("\(error)")
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    private func printList() throws {
        let scenarios = try ScenarioLibrary.all()
        let width = scenarios.map(\.name.count).max() ?? 0
        for scenario in scenarios {
            print(scenario.name + String(repeating: " ", count: width - scenario.name.count) + "  \(scenario.title)")
        }
    }

    private func printRuns(of scenarios: [Scenario]) async throws {
        let isSingle = scenarios.count == 1 && (runs ?? 1) == 1 && hours == nil
        let plan = RunPlan(
            scenarios, seed: seed, extent: hours.map(RunPlan.Extent.hours) ?? .passes(runs ?? 1),
            recordsFirst: isSingle || svg != nil)
        let hour = Duration.seconds(3600)
        var progress = Progress("of \(Int(plan.duration / hour)) device-hours", wanted: plan.duration / hour)
        let start = ContinuousClock.now
        let outcome = await plan.run(jobs: parallel.jobs, by: policy.run) { progress.add($0 / hour) }
        progress.end()
        let time = ContinuousClock.now - start
        if let svg, let first = outcome.first, let picture = TimelinePicture(of: first, in: scenarios[0]) {
            try write(picture.svg, to: svg)
        }
        let timeline = isSingle ? outcome.first?.timeline : nil
        if json {
            return print(
                try JSONText.of(RunsDocument(outcome.totals.map { RunDocument($0, timeline: timeline) })))
        }
        print(RunTable(outcome.totals).render(.terminal))
        if let timeline { print(DecisionList(timeline).render(.terminal)) }
        if explain, let first = outcome.first,
            let explanation = RunExplanation(of: first, best: Oracle.run(scenarios[0], seed: seed))
        {
            print("\n" + explanation.render(.terminal))
        }
        if let hours { print(speed(hours: hours * scenarios.count, time)) }
    }

    private func printComparisons(of scenarios: [Scenario]) async throws {
        let runs = runs ?? 5
        var progress = Progress("of \(scenarios.count * runs) passes", wanted: Double(scenarios.count * runs))
        let comparisons = await ComparisonPlan(scenarios, seed: seed, runs: runs).run(jobs: parallel.jobs) {
            progress.add(1)
        }
        progress.end()
        if json { return print(try JSONText.of(ComparisonsDocument(comparisons))) }
        print(comparisons.map { ComparisonTable($0).render(.terminal) }.joined(separator: "\n\n"))
    }

    private func speed(hours: Int, _ time: Duration) -> String {
        let tenths = max(time.milliseconds / 100, 1)
        return "\(hours) device-hours in \(tenths / 10).\(tenths % 10) s (\(Int64(hours) * 10 / tenths) a second)"
    }

    private func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw unwritable(path) }
        let written = fwrite(text, 1, text.utf8.count, file)
        guard fclose(file) == 0, written == text.utf8.count else { throw unwritable(path) }
    }

    private func unwritable(_ path: String) -> Failure {
        Failure("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}

/// Error text for an unknown scenario name, with suggestions.
struct UnknownScenario: CustomStringConvertible {
    let description: String

    /// - Returns: nil for names of the library, names of random scenarios, and paths.
    init?(_ name: String) {
        guard !name.contains("/"), !name.hasSuffix(".scenario"), !ScenarioLibrary.names.contains(name),
            !RandomScenario.isName(name)
        else {
            return nil
        }
        let near = NearbyNames(ScenarioLibrary.names).nearest(to: name)
        let hint = near.isEmpty ? "--list shows all" : "did you mean \(near.joined(separator: " or "))?"
        description = "unknown scenario \(name.debugDescription): \(hint)"
    }
}

/// Policy of a simulation: altnet's, or a model of another connection manager.
struct Decider: ExpressibleByArgument, Hashable, Sendable, CustomStringConvertible {
    let description: String

    static let altnet = Decider(description: "altnet")
    static let names = ([altnet.description] + Peer.all.map(\.name)).joined(separator: ", ")

    init?(argument: String) {
        guard argument == Self.altnet.description || Peer.all.contains(where: { $0.name == argument }) else {
            return nil
        }
        description = argument
    }

    private init(description: String) { self.description = description }

    func run(_ scenario: Scenario, seed: UInt64, duration: Duration, recordsTimeline: Bool) -> RunResult {
        guard let peer = Peer.all.first(where: { $0.name == description }) else {
            return Simulation.run(scenario, seed: seed, duration: duration, recordsTimeline: recordsTimeline)
        }
        return Simulation.run(
            scenario, seed: seed, duration: duration, recordsTimeline: recordsTimeline, policyName: peer.name,
            timing: peer.timing
        ) { _ in peer.makePolicy() }
    }
}
