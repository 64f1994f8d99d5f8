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

    @Argument(help: "Which stacks, how many runs there are already, and how many more: iwd=2+3.")
    var wanted: [WantedRuns]

    func validate() throws {
        if let obstacle = Lab.obstacle { throw ValidationError("no trial here: \(obstacle); use make bench") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let results = environment["LAB_RESULTS"] else { throw ValidationError("LAB_RESULTS is not set") }
        let time: Run.Time = environment["LAB_TIME"] == "virtual" ? .virtual : .clock
        // In turns, so that whatever changes as time goes by befalls all alike.
        for round in 0..<(wanted.map(\.count).max() ?? 0) {
            for wanted in wanted where wanted.count > round {
                let number = wanted.done + round
                let run = await Run.play(trial, stack: wanted.stack, number: number, time: time)
                try RunStore.append(run.stamped(altnet: environment["LAB_ALTNET_BUILD"]), in: results)
                print("\(trial), \(wanted.stack), run \(number + 1): \(run.summary)")
            }
        }
    }
}

/// `iwd=2+3`: three runs of iwd's, after two that there are.
struct WantedRuns: ExpressibleByArgument {
    let stack: String
    let done: Int
    let count: Int

    init(_ wanted: BenchmarkPlan.Wanted) { (stack, done, count) = (wanted.stack, wanted.done, wanted.count) }

    init?(argument: String) {
        let parts = argument.split(separator: "=")
        let numbers = (parts.last ?? "").split(separator: "+").compactMap { Int($0) }
        guard parts.count == 2, numbers.count == 2, numbers[0] >= 0, numbers[1] > 0 else { return nil }
        (stack, done, count) = (String(parts[0]), numbers[0], numbers[1])
    }

    var argument: String { "\(stack)=\(done)+\(count)" }
}
