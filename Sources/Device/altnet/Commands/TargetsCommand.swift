import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct TargetsCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "targets", abstract: "Show and set the servers that the device needs.",
        discussion: """
            Without arguments, shows the servers and their state. With arguments, replaces the whole list permanently. \
            The device leaves a network that reaches none of its servers for one that does.

              altnet targets
              altnet targets broker=mqtts://mqtt.example.com:8883 app=https://app.example.com:443
              altnet targets --none
              altnet targets --reset

            A server is NAME=[SCHEME://]HOST[:PORT]. The schemes are tcp (default), tls, http, https, mqtt and mqtts. \
            The default port is 80; with https and tls 443, mqtt 1883, mqtts 8883.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The new list of servers.", valueName: "name=url"))
    var targets: [TargetArgument] = []

    @Flag(help: "Remove all servers.")
    var none = false

    @Flag(help: "Use the servers of the device's settings again.")
    var reset = false

    func validate() throws {
        guard [!targets.isEmpty, none, reset].count(where: \.self) <= 1 else {
            throw ValidationError("give either servers, --none or --reset")
        }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let list =
            if reset {
                try await device.updateTargets(.reset)
            } else if none || !targets.isEmpty {
                try await device.updateTargets(.replace(targets.map(\.setting)))
            } else {
                try await device.targets()
            }
        if connection.json { return console.print(json: list) }
        let states = try await device.network().connectivity?.targets ?? []
        console.print(TargetsView(list: list, states: states).render(console.style))
    }
}

/// A server as an argument: `broker=mqtts://mqtt.example.com:8883`. The device checks the URL.
struct TargetArgument: ExpressibleByArgument, Sendable {
    let setting: TargetSetting

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "=") else { return nil }
        let (name, url) = (String(argument[..<equals]), String(argument[equals...].dropFirst()))
        guard ProtocolLimits.targetNameLength.contains(name.utf8.count),
            ProtocolLimits.targetURLLength.contains(url.utf8.count)
        else { return nil }
        setting = TargetSetting(name: name, url: url)
    }
}

struct TargetsView {
    let list: TargetList
    let states: [TargetStatus]

    func render(_ style: Style) -> String {
        let source = list.source == .app ? "set by an app" : "set by the settings"
        guard !list.targets.isEmpty else { return "The list of servers is empty (\(source))." }
        var table = Table(columns: [
            .init(title: "NAME"), .init(title: "URL", minimum: 20, rank: 1), .init(title: "STATE"),
            .init(title: "REASON", minimum: 10, rank: 0),
        ])
        table.rows = list.targets.map { target in
            let state = states.first { $0.name == target.name }
            return [
                .init(target.name.printable), .init(target.url.printable),
                .init(state?.state.rawValue ?? "", state.map { $0.isOnline ? .green : .yellow }),
                .init(state?.reason?.words ?? ""),
            ]
        }
        return table.render(style)
            + "\n\(source.prefix(1).uppercased() + source.dropFirst()); required: \(list.required.rawValue)"
    }
}
