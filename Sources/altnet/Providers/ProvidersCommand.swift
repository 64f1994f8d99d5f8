import ArgumentParser
import HotspotProviders

struct ProvidersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers",
        abstract: "Run the programs that sign in to captive networks.",
        discussion: """
            The agent starts no programs: it asks this host, which runs as another user. systemd starts one process for \
            each connection (altnet-providers.socket, Accept=yes), which reads from standard input which program it is to \
            become. Where there is no systemd, --listen does the same, and ends a program with all that it has started \
            when its connection ends.

            A provider is an executable file of the directory. It and the directory belong to root, and nobody else may \
            write to them. How to write one is described in Docs/providers.md.
            """)

    @Option(help: ArgumentHelp("The directory with the providers.", valueName: "path"))
    var directory = "/usr/lib/altnet/providers"

    @Option(help: ArgumentHelp("Listen on this socket, instead of serving standard input.", valueName: "path"))
    var listen: String?

    @Option(
        help: ArgumentHelp("With --listen, started as root: the user that the providers run as.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp("With --listen: who may connect, besides root and whoever starts this.", valueName: "name"))
    var agentUser: String?

    func validate() throws {
        guard listen != nil || (user == nil && agentUser == nil) else {
            throw ValidationError("--user and --agent-user go with --listen")
        }
    }

    func run() throws {
        let directory = ProviderDirectory(path: directory)
        do {
            if let listen {
                try ProviderListener(socket: listen, directory: directory, user: user, agentUser: agentUser).run()
            } else {
                try ProviderHost(directory: directory).serveStandardInput()
            }
        } catch {
            try? TextOutput(descriptor: 2).put("altnet: \(error)\n")
            throw ExitCode(1)
        }
    }
}
