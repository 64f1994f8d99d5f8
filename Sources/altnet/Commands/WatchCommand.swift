import AppClient
import AppProtocol
import ArgumentParser

struct WatchCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show what happens, as it happens.",
        discussion: """
            Prints one line for each event until it is interrupted: changes of the network, the signal, scans, \
            switches, and every decision with its reason. With --json, each line is an event of the protocol.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("End after this many events.", valueName: "number"))
    var count: Int?

    @Flag(help: "Leave measurements of the signal out.")
    var noSignal = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is at least 1.") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let events = try await device.events()
        if !connection.json { console.print(EventView.status(try await device.network(), console.style)) }
        var left = count ?? .max
        for try await event in events {
            if noSignal, case .signal = event.body { continue }
            if connection.json {
                console.print(json: event, compact: true)
            } else {
                console.print(EventView(event: event).render(console.style))
            }
            left -= 1
            if left == 0 { return }
        }
    }
}
