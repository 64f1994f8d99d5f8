import AppClient
import AppProtocol
import ArgumentParser

struct HistoryCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show what the device decided, and why.",
        discussion: "The newest decision comes last. Each has its reason and what was measured when it was made.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Show at most this many decisions, 1 to 200.", valueName: "number"))
    var limit = ProtocolLimits.defaultHistoryDecisions

    func validate() throws {
        guard ProtocolLimits.historyDecisions.contains(limit) else { throw ValidationError("--limit is 1 to 200.") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let history = try await device.history(limit: limit)
        if connection.json { return console.print(json: history) }
        guard !history.decisions.isEmpty else { return console.print("The device has decided nothing yet.") }
        let now = console.now()
        let older = history.isTruncated ? ["Older decisions were left out."] : []
        let decisions = history.decisions.map { DecisionView(decision: $0, now: now).render(console.style) }
        console.print((older + decisions).joined(separator: "\n"))
    }
}
