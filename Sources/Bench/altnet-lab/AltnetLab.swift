import ArgumentParser

@main
struct AltnetLab: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "altnet-lab",
        abstract: "The engineer's tools around altnet; none of this ships on a device.",
        subcommands: [
            DemoCommand.self, BenchCommand.self, BenchPlayCommand.self, SimulateCommand.self, ReplayCommand.self,
            BenchPolicyCommand.self, TortureCommand.self,
            PolicyPropertiesCommand.self, HarnessCommand.self,
        ])
}
