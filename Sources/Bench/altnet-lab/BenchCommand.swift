import ArgumentParser
import Dispatch
import FoundationEssentials
import Glibc
import Lab
import Linux

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Compares altnet with the other network stacks of Linux.",
        discussion: """
            Runs each case in a virtual machine with the kernel's simulated radios: with altnet, iwd, wpa_supplicant \
            with dhcpcd or systemd-networkd, NetworkManager and ConnMan in turn. `make bench` prepares everything. \
            Results are kept, and an interrupted run continues. Docs/results/benchmarks.md explains the figures.
            """)

    @Option(help: "Names of cases, or their first characters, such as hard-loss (default: all).")
    var only: [String] = []

    @Option(help: "Stacks to measure: \(StackName.allCases.map(\.rawValue).joined(separator: ", ")) (default: all).")
    var stack: [StackName] = []

    @Option(help: "Runs of each case and stack.")
    var runs = 5

    @Option(help: "The clock of the measurement: virtual, or clock for real time.")
    var time = Run.Time.virtual

    @Option(help: "Virtual machines at a time. In real time they disturb each other.")
    var jobs: Int?

    @Option(help: "The folder of the results.")
    var folder = ".lab/bench-13"

    @Option(help: "A folder of results with an earlier Debian's packages. Shows the figures that differ clearly.")
    var earlier: String?

    @Flag(help: "Measure again even if there are results.")
    var again = false

    @Flag(help: "Only show the existing results.")
    var show = false

    @Flag(help: "Print each run as a line of JSON instead of tables.")
    var json = false

    @Option(help: "Write the tables between the marks of this page, and a plot (SVG) beside it.")
    var write: String?

    @Option(help: "Only draw the plot (SVG) of this page's tables again, beside the page.")
    var plot: String?

    func validate() throws {
        if !(1...1000).contains(runs) { throw ValidationError("--runs must be 1 to 1000") }
        if !(1...64).contains(jobs ?? 1) { throw ValidationError("--jobs must be 1 to 64") }
        for name in only where !BenchmarkPlan.caseNames.contains(where: { $0.hasPrefix(name) }) {
            let names = BenchmarkPlan.caseNames.joined(separator: ", ")
            throw ValidationError("unknown benchmark case, use one of \(names): \(name)")
        }
    }

    func run() async throws {
        if let plot { return try BenchmarkPage.plot(plot) }
        let build = environment["LAB_ALTNET_BUILD"]
        if !show { try await measure(build: build) }
        let results = self.results(in: folder, altnet: build)
        if json { return try results.runs.forEach { print(try $0.line) } }
        let page = BenchmarkPage(
            results, earlier: earlier.map { self.results(in: $0, altnet: build) }, machine: text("machine", in: folder),
            command: "make bench")
        print(page.text)
        if let write { try page.write(to: write) }
    }

    private var store: RunStore { RunStore(folder: folder) }
    private var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// Returns the text of a file in a folder of results; empty if the file is missing.
    private func text(_ name: String, in folder: String) -> String {
        (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
    }

    private func results(in folder: String, altnet build: String?) -> ReleaseResults {
        let packages = text("peers", in: folder).split(separator: "\n").first.map(String.init) ?? ""
        return ReleaseResults(RunStore(folder: folder).runs.current(altnet: build), packages: packages)
    }

    private func measure(build: String?) async throws {
        let done = again ? [] : store.runs.current(altnet: build)
        let plan = BenchmarkPlan(cases: only, stacks: stack, runs: runs, time: time, done: done)
        if again { try plan.jobs.forEach { try store.forget($0, in: time) } }
        let total = plan.jobs.reduce(0) { $0 + $1.runs }
        report("\(total) runs of \(plan.jobs.count) cases in \(time.rawValue) time")
        var ended = 0
        try await withThrowingTaskGroup(of: BenchmarkPlan.Job.self) { group in
            var waiting = plan.jobs[...]
            for _ in 0..<(jobs ?? (time == .virtual ? 2 : 1)) {
                if let job = waiting.popFirst() { group.addTask { try await play(job) } }
            }
            while let job = try await group.next() {
                ended += job.runs
                report("\(ended) of \(total): \(job.caseName)")
                if let job = waiting.popFirst() { group.addTask { try await play(job) } }
            }
        }
    }

    /// Runs one virtual machine from boot to shutdown. The machine stores its results.
    private func play(_ job: BenchmarkPlan.Job) async throws -> BenchmarkPlan.Job {
        let results = store.folder(of: job.caseName, in: time)
        let log = "\(results)/machine.log"
        try FileManager.default.createDirectory(atPath: results, withIntermediateDirectories: true)
        let wanted = job.wanted.map(\.description)
        var arguments = ["--timeout", "14400", "--memory", "1536", "--results", results]
        if time == .virtual { arguments.append("--virtual-time") }
        arguments += options + ["--", CommandLine.arguments[0], "bench-play", job.caseName] + wanted
        let words = arguments
        let status = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try Self.run(words, log: log) })
            }
        }
        if status != 0 {
            report("\(job.caseName): the virtual machine ended with status \(status), see its log: \(log)")
        }
        return job
    }

    /// Runs the virtual machine and returns its exit status. The machine ends with the calling thread, even if a signal
    /// kills this process.
    private static func run(_ arguments: [String], log: String) throws -> Int32 {
        let machine = try ChildProcess.start(
            "setpriv", ["--pdeathsig", "TERM", "board/lab/run"] + arguments, environment: ChildProcess.ownEnvironment,
            output: .file(log, flags: O_WRONLY | O_CREAT | O_TRUNC))
        return ChildProcess.wait(for: machine)
    }

    /// Further options for `board/lab/run`. `board/lab/bench` wrote them, one word per line.
    private var options: [String] { text("options", in: folder).split(separator: "\n").map(String.init) }

    private func report(_ text: String) {
        let line = "bench: \(text)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }
}

extension StackName: ExpressibleByArgument {}
extension Run.Time: ExpressibleByArgument {}

struct BenchPlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-play", abstract: "Runs one case of the benchmark on this kernel.", shouldDisplay: false)

    @Argument(help: "The case.")
    var caseName: String

    @Argument(help: "Stacks, each with the runs that exist and the runs to add: iwd=2+3.")
    var wanted: [BenchmarkPlan.Wanted]

    func validate() throws {
        if let obstacle = Lab.obstacle {
            throw ValidationError("the benchmark cannot run here, use make bench: \(obstacle)")
        }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let results = environment["LAB_RESULTS"] else {
            throw ValidationError("LAB_RESULTS is not set: use make bench")
        }
        let time: Run.Time = environment["LAB_TIME"] == "virtual" ? .virtual : .clock
        // Let the stacks take turns, so that slow changes of the environment affect all stacks equally.
        for round in 0..<(wanted.map(\.count).max() ?? 0) {
            for wanted in wanted where wanted.count > round {
                let number = wanted.done + round
                let run = await Run.play(caseName, stack: wanted.stack, number: number, time: time)
                try RunStore.append(run.stamped(altnet: environment["LAB_ALTNET_BUILD"]), in: results)
                print("\(caseName), \(wanted.stack), run \(number + 1): \(run.summary)")
            }
        }
    }
}

extension BenchmarkPlan.Wanted: ExpressibleByArgument {}
