import ArgumentParser
import Hotspots
import NIOPosix

struct ProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Be a program that signs in to captive networks.",
        discussion: """
            The providers that come with altnet. The host of the providers starts them by a file in its directory; \
            Docs/providers.md says how.
            """,
        subcommands: [ClickThroughCommand.self])
}

struct ClickThroughCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "click-through",
        abstract: "Sign in where terms have only to be accepted.",
        discussion: """
            Fetches the page to which the network redirects, or which it names by RFC 8908, ticks the checkboxes of its form \
            and sends it, or follows its link, and looks whether the network lets through. Where the page has fields \
            for text or a password, a person is asked. Reads requests from standard input and answers on standard output.
            """)

    func run() async throws {
        await ProviderProgram(ClickThrough(on: MultiThreadedEventLoopGroup.singleton)).run()
    }
}
