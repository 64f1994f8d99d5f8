import ArgumentParser
import Dispatch
import FoundationEssentials
import Glibc
import Lab
import Linux

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
        let build = environment["LAB_ALTNET_BUILD"]
        if !show { try await measure(build: build) }
        let runs = store.runs.current(altnet: build)
        if json { return try runs.forEach { print(try $0.line) } }
        let page = BenchmarkPage(runs, machine: text("machine") ?? "", command: "make bench")
        print(page.text)
        if let write { try page.write(to: write) }
    }

    private var store: RunStore { RunStore(folder: folder) }
    private var environment: [String: String] { ProcessInfo.processInfo.environment }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }

    private func measure(build: String?) async throws {
        let done = again ? [] : store.runs.current(altnet: build)
        let plan = BenchmarkPlan(trials: only, stacks: stack, runs: runs, time: time, done: done)
        if again { try plan.jobs.forEach { try store.forget($0, in: time) } }
        let total = plan.jobs.reduce(0) { $0 + $1.runs }
        tell("\(total) runs of \(plan.jobs.count) trials in \(time.rawValue) time")
        var ended = 0
        try await withThrowingTaskGroup(of: BenchmarkPlan.Job.self) { group in
            var waiting = plan.jobs[...]
            for _ in 0..<(jobs ?? (time == .virtual ? 2 : 1)) {
                if let job = waiting.popFirst() { group.addTask { try await play(job) } }
            }
            while let job = try await group.next() {
                ended += job.runs
                tell("\(ended) of \(total): \(job.trial)")
                if let job = waiting.popFirst() { group.addTask { try await play(job) } }
            }
        }
    }

    /// One virtual machine, from its boot to its end. What it measures it writes down itself.
    private func play(_ job: BenchmarkPlan.Job) async throws -> BenchmarkPlan.Job {
        let results = store.folder(of: job.trial, in: time)
        let log = "\(results)/machine.log"
        try FileManager.default.createDirectory(atPath: results, withIntermediateDirectories: true)
        let wanted = job.wanted.map(\.description)
        var arguments = ["--timeout", "14400", "--memory", "1536", "--results", results]
        if time == .virtual { arguments.append("--virtual-time") }
        arguments += options + ["--", CommandLine.arguments[0], "bench-play", job.trial] + wanted
        let words = arguments
        let status = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try Self.run(words, log: log) })
            }
        }
        if status != 0 { tell("\(job.trial): the virtual machine ended with status \(status); see \(log)") }
        return job
    }

    /// It ends with the calling thread, which waits for it, however that ends.
    private static func run(_ arguments: [String], log: String) throws -> Int32 {
        let machine = try ChildProcess.start(
            "setpriv", ["--pdeathsig", "TERM", "board/lab/run"] + arguments, environment: ChildProcess.ownEnvironment,
            output: .file(log, flags: O_WRONLY | O_CREAT | O_TRUNC))
        return ChildProcess.wait(for: machine)
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
