import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct WatchCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show events as they happen.",
        discussion: """
            On a terminal, shows the network in use, the signals of the last five minutes, and each decision with its \
            reason. Letters in the chart are scan results of networks that the device may join. The axis shows the \
            letter of the network in use, x while the device was offline, and ? while this program was not connected. \
            Reconnects after the agent restarts or the connection breaks. Press q to quit.

            Elsewhere, and with --lines, --count or --no-signal, prints one line per event until interrupted. With \
            --json, each line is an event of the protocol.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Stop after this many events.", valueName: "number"))
    var count: Int?

    @Flag(help: "Omit signal measurements.")
    var noSignal = false

    @Flag(help: "Print lines on a terminal too.")
    var lines = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        if let screen = console.screen, !lines, !connection.json, count == nil, !noSignal {
            let follower = WatchFollower(clock: console.clock, time: console.now) { try await connect(console) }
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

struct EventView {
    let event: Event

    func render(_ style: Style) -> String {
        let time = style.paint(LocalTime.clock(event.time), .dim)
        return "\(time)  \(Self.sentence(event.body, style))"
    }

    static func status(_ status: NetworkStatus, _ style: Style) -> String {
        let time = style.paint(LocalTime.clock(.now), .dim)
        return "\(time)  \(network(status, style))"
    }

    private static func sentence(_ body: Event.Body, _ style: Style) -> String {
        switch body {
        case .networkChanged(let status): return network(status, style)
        case .signal(let reading):
            return "signal    \(strength(reading.signal, style))"
        case .scanFinished(let scan):
            return "scan      \(scan.outcome.rawValue), \(scan.networks) networks in range"
        case .backupsChanged(let list):
            return "backups   \(list.networks.count) of \(list.max) stored"
        case .switchProgress(let status):
            let reason = status.text.map { ": \($0.printable)" } ?? ""
            return "switch    \(DisplayText.phase(status.phase))\(reason)"
        case .decision(let decision):
            return "decision  " + style.heading(DecisionView.move(decision, style)) + "  \(decision.text.printable)"
        case .targetChanged(let target):
            let wording = ConnectivityDisplayText.target(target, now: nil)
            return "target    " + style.paint(wording.text, wording.paint)
        case .portalRequest(let request):
            return "sign-in   " + style.paint(ConnectivityDisplayText.request(request), .yellow)
        case .portalEnded:
            return "sign-in   the request has ended"
        case .gap(let gap):
            return style.paint("gap       \(DisplayText.gap(gap))", .yellow)
        }
    }

    private static func network(_ status: NetworkStatus, _ style: Style) -> String {
        let name = status.ssid?.description ?? "a network"
        switch status.state {
        case .offline:
            let uplink = status.uplink.map { ", connected over \(DisplayText.uplink($0, of: status))" } ?? ""
            return "network   " + style.paint("offline", .red) + uplink
        case .joining: return "network   " + style.paint("joining \(name)", .yellow)
        case .waitingForAddress: return "network   " + style.paint("waiting for an address on \(name)", .yellow)
        case .online:
            let signal = status.wifiSignal.map { "  \(strength($0, style))" } ?? ""
            let metered = status.isMetered ? "  metered" : ""
            return "network   " + style.paint("online on \(name)", .green) + signal + metered
        }
    }

    private static func strength(_ signal: Int, _ style: Style) -> String {
        style.paint(DisplayText.bars(signal, style), DisplayText.paint(signal)) + " \(signal) dBm"
    }
}
