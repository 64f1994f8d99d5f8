import Agent
import ArgumentParser
import Glibc
import Linux

struct Altnet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "altnet",
        abstract: "Keep a device online on changing Wi-Fi networks.",
        usage: "altnet [--device <host[:port]>] [--broker <address>] <subcommand>",
        discussion: """
            The agent stores backup networks, measures the one in use, and moves to another when it is lost or weak. \
            These commands query and control the running agent.

            With --device they control a device in the network instead. You need its key:

              altnet --device lamp.local --key-file lamp.key status

            With --broker they also find the device at its MQTT broker while you are elsewhere:

              altnet --device lamp.local --broker mqtts://broker.example.com --key-file lamp.key status

            Name a network by its SSID as this program prints it. Write \\xNN for a byte that is not printable text, and \
            a double backslash for a backslash. If several stored networks share an SSID, use the hash, or at least \
            its first six characters.

            EXIT STATUS
              0   done, also if there was nothing to do
              1   the device refused, the switch failed, or the diagnosis found a fault
              64  the command line is wrong
              65  a network, password or SSID is invalid or unknown, or too many networks are stored
              66  a part was found and left out (altnet import --strict)
              69  no agent answers, or no device at that address
              70  a bug in the agent
              74  a disk, a driver or a radio failed
              75  not now: try again later
              76  the device does not support this, or agent and command line have incompatible versions
              77  no permission, or the key does not fit the device
              78  the agent cannot start: its settings or keys are invalid, or another program uses a resource

            ENVIRONMENT
              ALTNET_DEVICE           a device in the network, without --device
              ALTNET_DEVICE_ID        its id, without --device-id
              ALTNET_DEVICE_KEY_FILE  its key file, without --key-file
              ALTNET_DEVICE_BROKER    its MQTT broker, without --broker; likewise _BROKER_USER and _BROKER_SECRETS
              ALTNET_SOCKET           the socket of the agent on this machine, without --socket
              NO_COLOR                if set and not empty, output has no colour

            FILES
              \(DeviceOptions.standardSocket)  the agent's socket
              /var/lib/altnet          the device's identity, key file and root key
            """,
        version: Version.withCommit,
        groupedSubcommands: [
            CommandGroup(
                name: "State",
                subcommands: [
                    StatusCommand.self, DiagnoseCommand.self, WatchCommand.self, HistoryCommand.self, ScanCommand.self,
                    DiscoverCommand.self,
                ]),
            CommandGroup(
                name: "Network",
                subcommands: [
                    SwitchCommand.self, BackupsCommand.self, HomeCommand.self, PortalCommand.self, TargetsCommand.self,
                ]),
            CommandGroup(
                name: "App",
                subcommands: [NameCommand.self, PairCommand.self, KeysCommand.self, SetupAccessPointCommand.self]),
            CommandGroup(
                name: "Setup",
                subcommands: [
                    ProvisionCommand.self, ImportCommand.self, EnableCommand.self, DisableCommand.self,
                    ImprovCommand.self,
                ]),
            CommandGroup(
                name: "Maintenance",
                subcommands: [KeyFileCommand.self, FactoryResetCommand.self, FleetCommand.self]),
            CommandGroup(
                name: "Service",
                subcommands: [
                    AgentCommand.self, WaitOnlineCommand.self, MetricsCommand.self, HooksCommand.self,
                    ButtonCommand.self, ProvidersCommand.self, ProviderCommand.self,
                ]),
        ])
    @OptionGroup var device: DeviceOptions

    /// Replaces a command's name from the previous version by the current name, and warns. The next version will refuse
    /// the old name.
    static func withPresentName(_ arguments: [String]) -> [String] {
        let renamed = ["rescue": "setup-ap"]
        var arguments = arguments
        let index = indexOfCommand(arguments)
        guard index < arguments.count, let name = renamed[arguments[index]] else { return arguments }
        Console.current.complain(
            "'altnet \(arguments[index])' is now 'altnet \(name)'; the old name works until the next version")
        arguments[index] = name
        return arguments
    }

    /// Returns the index of the first command after the program's options, each of which has a value, and after `help`.
    static func indexOfCommand(_ arguments: [String]) -> Int {
        var index = 0
        while index < arguments.count, arguments[index].hasPrefix("--") {
            index += arguments[index].contains("=") ? 1 : 2
        }
        if index < arguments.count, arguments[index] == "help" { index += 1 }
        return min(index, arguments.count)
    }
}

/// Entry point of the program. Runs on the first thread, before other threads exist.
@main
enum Program {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "agent" {
            AgentService.overwriteFreedMemory()
            AgentService.saveMemory()
            TaskThread.install()
        }
        // Detach the task: the main actor has no thread here.
        Task.detached { exit(await run(arguments)) }
        // This thread handles signals; all other threads block them.
        while true { pause() }
    }

    private static func run(_ arguments: some Collection<String>) async -> Int32 {
        guard let agent = AgentProcess(arguments: arguments) else { return await Altnet.run(Array(arguments)) }
        do { try await agent.run() } catch { return error.rawValue }
        return EXIT_SUCCESS
    }
}
