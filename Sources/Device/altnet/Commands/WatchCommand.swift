import AppClient
import AppProtocol
import ArgumentParser

struct WatchCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show what happens, as it happens.",
        discussion: """
            On a terminal: a live screen with the network in use, the signals of the last five minutes, and every \
            decision with its reason. The letters in the chart are networks that the device may join, where a scan heard \
            them; the axis has the letter of the network in use, x where the device was offline and ? where nobody \
            was watching. When the agent restarts or the connection breaks, it says so and tries again. q ends it.

            Elsewhere, and with --lines, --count or --no-signal: one line for each event until it is interrupted. With \
            --json, each line is an event of the protocol.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("End after this many events.", valueName: "number"))
    var count: Int?

    @Flag(help: "Leave measurements of the signal out.")
    var noSignal = false

    @Flag(help: "Print lines on a terminal as well.")
    var lines = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is at least 1.") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        if let screen = console.screen, !lines, !connection.json, count == nil, !noSignal {
            let follower = WatchFollower { try await connect(console) }
            try await LiveWatch(terminal: screen, console: console, follower: follower).run(device)
        } else {
            try await printEvents(device, console)
        }
    }

    private func printEvents(_ device: DeviceClient, _ console: Console) async throws {
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
