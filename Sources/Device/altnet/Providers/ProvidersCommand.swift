import ArgumentParser
import Hotspots
import NIOPosix
import Terminal

struct ProvidersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers",
        abstract: "Run the hotspot providers that sign in to captive networks.",
        discussion: """
            The agent does not start programs itself; this host does. Each connection to the host's socket starts one \
            process, which reads the provider's name and runs this provider as another user. When the connection ends, \
            the provider and its child processes end too.

            The socket comes from systemd (altnet-providers.socket) or from --listen.

            A provider is an executable file in the directory. The file and the directory must belong to root and be \
            writable by root only. See Docs/reference/providers.md.
            """)

    @Option(help: ArgumentHelp("The directory with the providers.", valueName: "path"))
    var directory = "/usr/lib/altnet/providers"

    @Option(help: ArgumentHelp("Listen on this socket instead of an inherited one.", valueName: "path"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "The user that runs the providers; required for root, and not root itself.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("A user that may connect, besides root and this process's user.", valueName: "name"))
    var agentUser: String?

    /// Whether this process serves one connection, on its standard input. The host sets this flag.
    @Flag(help: .hidden)
    var connection = false

    func run() throws {
        do {
            let user = try user.map { try SystemUser(name: $0) }
            if connection {
                try user?.become()
                try ProviderHost(directory: ProviderDirectory(path: directory)).serveStandardInput()
            } else {
                let listener = try ProviderListener(
                    providers: ProviderConnections(directory: directory, user: user),
                    agent: agentUser.map { try SystemUser(name: $0) })
                try listener.run(on: listen.map { ListeningSocket.path($0) } ?? .inherited)
            }
        } catch {
            try? TextOutput(descriptor: 2).put("altnet: \(error)\n")
            throw ExitCode(1)
        }
    }
}

struct ProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Run a built-in hotspot provider.",
        discussion: """
            To use one, put a script that runs it into the directory of the providers: see Docs/reference/providers.md.
            """,
        subcommands: [ClickThroughCommand.self])
}

struct ClickThroughCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "click-through",
        abstract: "Sign in if accepting terms is enough.",
        discussion: """
            Fetches the login page that the network redirects to or announces (RFC 8908), ticks the checkboxes of its \
            form and submits it, or follows its link, and checks the internet access. If the page has fields for text \
            or a password, asks a person. Reads requests from standard input and answers on standard output.
            """)

    func run() async throws {
        await ProviderProgram(ClickThrough(on: MultiThreadedEventLoopGroup.singleton)).run()
    }
}
