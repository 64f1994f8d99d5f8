import ArgumentParser
import FoundationEssentials
import Lab
import StackBenchmark

/// The part of `bench` that runs in the virtual machine.
struct BenchPlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-play", abstract: "Plays one trial of the benchmark on this kernel.", shouldDisplay: false)

    @Argument(help: "The trial.")
    var trial: String

    @Argument(help: "Which stacks, and how often: iwd=5.")
    var wanted: [WantedRuns]

    func validate() throws {
        if let obstacle = Lab.obstacle { throw ValidationError("no trial here: \(obstacle); use make bench") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let results = environment["LAB_RESULTS"] else { throw ValidationError("LAB_RESULTS is not set") }
        let time: Run.Time = environment["LAB_TIME"] == "virtual" ? .virtual : .clock
        // In turns, so that whatever changes as time goes by befalls all alike.
        for round in 1...(wanted.map(\.count).max() ?? 1) {
            for stack in wanted where stack.count >= round {
                let run = await Run.play(trial, stack: stack.name, time: time)
                try FileOfRuns(path: "\(results)/\(FileOfRuns.name)").append([run])
                print("\(trial) \(stack.name) \(round): \(run.summary)")
            }
        }
    }
}

/// `iwd=5`
struct WantedRuns: ExpressibleByArgument {
    let name: String
    let count: Int

    init(name: String, count: Int) {
        self.name = name
        self.count = count
    }

    init?(argument: String) {
        let parts = argument.split(separator: "=")
        guard parts.count == 2, let count = Int(parts[1]), count > 0 else { return nil }
        self.init(name: String(parts[0]), count: count)
    }

    var argument: String { "\(name)=\(count)" }
}
