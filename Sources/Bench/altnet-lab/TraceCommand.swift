import ArgumentParser
import Simulation

struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace", abstract: "Prints what a request does, row by row.", subcommands: [TraceSwitch.self])
}

struct TraceSwitch: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch", abstract: "Prints the rows of a commanded switch, from the command to the outcome.",
        discussion: """
            Without a recording, simulates a device in the scenario commanded-trial with the agent's core. Each row is \
            an event with its source (app, disk, supplicant, kernel, probe, timer), the policy's actions (policy), or \
            an effect of the core (core). A recording has the policy's rows only. The exit status is 65 if the file \
            is not a recording, and 1 if it has no switch. Docs/contributor/architecture.md explains the rows.

              altnet-lab trace switch
              altnet-lab trace switch record
            """)

    @Argument(help: "The recorded file.")
    var file: String?

    private static let longest = 40

    func run() throws {
        let trace =
            if let file { SwitchTrace(try ReplayCommand.runs(in: file)) } else {
                SwitchTrace(try ScenarioLibrary.scenario(named: "commanded-trial"), seed: 1)
            }
        guard let start = trace.rows.first?.milliseconds else {
            throw SimulateCommand.Failure("found no commanded switch in \(file ?? "commanded-trial")")
        }
        for row in trace.rows.prefix(Self.longest) {
            print("\(ReplayReport.time(row.milliseconds - start))  \(row.who.padded(to: 10))  \(row.text)")
        }
        if trace.rows.count > Self.longest { print("... and \(trace.rows.count - Self.longest) more rows") }
    }
}
