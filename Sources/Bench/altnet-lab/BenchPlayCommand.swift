import ArgumentParser
import FoundationEssentials
import Lab

/// The part of `bench` that runs in the virtual machine.
struct BenchPlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-play", abstract: "Plays one trial of the benchmark on this kernel.", shouldDisplay: false)

    @Argument(help: "The trial.")
    var trial: String

    @Argument(help: "Which stacks, how many runs there are already, and how many more: iwd=2+3.")
    var wanted: [BenchmarkPlan.Wanted]

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

extension BenchmarkPlan.Wanted: ExpressibleByArgument {}
