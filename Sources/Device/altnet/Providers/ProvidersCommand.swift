import ArgumentParser
import Hotspots
import NIOPosix
import Terminal

struct ProvidersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers",
        abstract: "Run the programs that sign in to captive networks.",
        discussion: """
            The agent starts no programs: it asks this host. Each connection to the host's socket is one process of \
            this program, which reads which provider it is to become, and becomes it as another user. When the \
            connection ends, so does the provider, with all that it has started.

            The socket is the one that systemd passes (altnet-providers.socket), or the one of --listen.

            A provider is an executable file of the directory. It and the directory belong to root, and only root may \
            write to them. Docs/reference/providers.md describes how to write one.
            """)

    @Option(help: ArgumentHelp("The directory with the providers.", valueName: "path"))
    var directory = "/usr/lib/altnet/providers"

    @Option(help: ArgumentHelp("Listen on this socket, instead of one that is inherited.", valueName: "path"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "The user that the providers run as; root has to say so, and may not name itself.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("The user that may connect, besides root and this process's user.", valueName: "name"))
    var agentUser: String?

    /// Set by the host for the process of a connection. The connection is its standard input.
    @Flag(help: .hidden)
    var connection = false

    func run() throws {
        do {
            let user = try user.map { try Account(name: $0) }
            if connection {
                try user?.become()
                try ProviderHost(directory: ProviderDirectory(path: directory)).serveStandardInput()
            } else {
                let listener = try ProviderListener(
                    providers: ProviderConnections(directory: directory, user: user),
                    agent: agentUser.map { try Account(name: $0) })
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
        abstract: "Be a program that signs in to captive networks.",
        discussion: """
            The providers that come with altnet. The host of the providers starts them by a file in its directory; \
            Docs/reference/providers.md says how.
            """,
        subcommands: [ClickThroughCommand.self])
}

struct ClickThroughCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "click-through",
        abstract: "Sign in where terms have only to be accepted.",
        discussion: """
            Fetches the page to which the network redirects, or which it names by RFC 8908, ticks the checkboxes of \
            its form and sends it, or follows its link, and checks whether the network lets through. If the page has \
            fields for text or a password, a person is asked. Reads requests from standard input and answers on standard output.
            """)

    func run() async throws {
        await ProviderProgram(ClickThrough(on: MultiThreadedEventLoopGroup.singleton)).run()
    }
}
