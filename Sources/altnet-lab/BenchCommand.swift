import ArgumentParser
import ChildProcess
import Dispatch
import FoundationEssentials
import Glibc
import StackBenchmark

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures altnet beside the other network stacks of Linux.",
        discussion: """
            Each trial is played on real kernel radios in a virtual machine, with altnet, iwd, wpa_supplicant and dhcpcd, \
            NetworkManager and ConnMan in turn; `make bench` prepares everything that it needs. What was measured is kept, \
            and a run that is interrupted goes on where it was. Docs/benchmarks.md says what the figures mean.
            """)

    @Option(help: "Trials by name or by the beginning of it, such as hard-loss; all if none is given.")
    var only: [String] = []

    @Option(help: "Which stacks: \(StackName.allCases.map(\.rawValue).joined(separator: ", ")); all if none is given.")
    var stack: [StackName] = []

    @Option(help: "How many runs of each.")
    var runs = 5

    @Option(help: "Which time is measured in: virtual, or clock.")
    var time = Run.Time.virtual

    @Option(help: "How many virtual machines at once. Those in clock time disturb each other.")
    var jobs: Int?

    @Option(help: "The folder with what was measured so far.")
    var folder = ".lab/bench"

    @Flag(help: "Measure again what was measured before.")
    var again = false

    @Flag(help: "Measure nothing; show what there is.")
    var show = false

    @Flag(help: "Print each run as a line of JSON instead of tables.")
    var json = false

    @Option(help: "Put the tables between the marks in this page, and a plot (SVG) beside it.")
    var write: String?

    func validate() throws {
        if !(1...1000).contains(runs) { throw ValidationError("run 1 to 1000 times") }
        if !(1...64).contains(jobs ?? 1) { throw ValidationError("start 1 to 64 virtual machines") }
        for name in only where !BenchmarkPlan.trials.contains(where: { $0.hasPrefix(name) }) {
            let names = BenchmarkPlan.trials.joined(separator: ", ")
            throw ValidationError("there is no trial “\(name)”; there are \(names)")
        }
    }

    func run() async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = FileOfRuns(path: "\(folder)/\(FileOfRuns.name)")
        let build = text("altnet-build")
        if !show { try await measure(into: file, build: build) }
        let runs = file.runs.current(altnet: build)
        if json { return try runs.forEach { print(try $0.line) } }
        let page = BenchmarkPage(runs, machine: text("machine") ?? "", command: "make bench")
        print(page.text)
        if let write { try page.write(to: write) }
    }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }

    private func measure(into file: FileOfRuns, build: String?) async throws {
        let done = again ? [] : file.runs.current(altnet: build)
        let plan = BenchmarkPlan(trials: only, stacks: stack, runs: runs, time: time, done: done)
        if again { try file.forget { run in plan.jobs.contains { $0.covers(run, in: time) } } }
        let total = plan.jobs.reduce(0) { $0 + $1.runs }
        tell("\(total) runs of \(plan.jobs.count) trials in \(time.rawValue) time")
        var ended = 0
        try await withThrowingTaskGroup(of: (BenchmarkPlan.Job, [Run]).self) { group in
            var waiting = plan.jobs[...]
            for _ in 0..<(jobs ?? (time == .virtual ? 2 : 1)) {
                if let job = waiting.popFirst() { group.addTask { (job, try await play(job)) } }
            }
            while let (job, runs) = try await group.next() {
                try file.append(runs.map { $0.stamped(altnet: build) })
                ended += job.runs
                let failed = runs.count { $0.failure != nil } + job.runs - runs.count
                tell("\(ended) of \(total): \(job.trial)\(failed > 0 ? ", \(failed) of \(job.runs) failed" : "")")
                if let job = waiting.popFirst() { group.addTask { (job, try await play(job)) } }
            }
        }
    }

    /// One virtual machine, from its boot to its end.
    private func play(_ job: BenchmarkPlan.Job) async throws -> [Run] {
        let results = "\(folder)/\(job.trial)-\(time.rawValue)"
        try? FileManager.default.removeItem(atPath: results)
        try FileManager.default.createDirectory(atPath: results, withIntermediateDirectories: true)
        let wanted = job.wanted.map { WantedRuns($0).argument }
        var arguments = ["--timeout", "14400", "--memory", "1536", "--results", results]
        if time == .virtual { arguments.append("--virtual-time") }
        arguments += options + ["--", CommandLine.arguments[0], "bench-play", job.trial] + wanted
        let (words, log) = (arguments, "\(results)/machine.log")
        // It ends with this program, however that ends.
        let machine = try ChildProcess.start(
            "setpriv", ["--pdeathsig", "TERM", "board/lab/run"] + words, environment: ChildProcess.ownEnvironment,
            output: .file(log, flags: O_WRONLY | O_CREAT | O_TRUNC))
        let status = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: ChildProcess.wait(for: machine)) }
        }
        if status != 0 { tell("\(job.trial): the virtual machine ended with status \(status); see \(log)") }
        return FileOfRuns(path: "\(results)/\(FileOfRuns.name)").runs
    }

    /// More of `board/lab/run`'s options, one word a line, as `board/lab/bench` wrote them.
    private var options: [String] { (text("options") ?? "").split(separator: "\n").map(String.init) }

    private func tell(_ text: String) {
        let line = "bench: \(text)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }
}

extension StackName: ExpressibleByArgument {}
extension Run.Time: ExpressibleByArgument {}
