import Agent
import Glibc

/// Where the program begins: on its first thread, while there are no others.
@main
enum Program {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "agent" {
            AgentService.overwriteFreedMemory()
            AgentService.saveMemory()
        }
        // Detached: the main actor has no thread here.
        Task.detached {
            await run(arguments)
            exit(EXIT_SUCCESS)
        }
        // Signals come to this thread: all others block them, or are made by one that does.
        while true { pause() }
    }

    private static func run(_ arguments: some Collection<String>) async {
        guard let agent = AgentProcess(arguments: arguments) else { return await Altnet.main(nil) }
        do { try await agent.run() } catch { exit(error.rawValue) }
    }
}
