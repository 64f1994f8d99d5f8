import AgentModel
import AppProtocol
import ArgumentParser
import DNS
import Terminal

struct DiscoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discover", abstract: "List the devices in the network.",
        discussion: """
            Searches every interface by multicast DNS for the service _altnet._tcp, which a device announces with the \
            files in board/dns-sd. You need no key to find a device, but a key to use it:

              altnet --device lamp.local --key-file lamp.key status
            """)

    @OptionGroup var local: LocalOptions

    @Option(help: ArgumentHelp("How long to wait for answers, 1 to 60.", valueName: "seconds"))
    var seconds = 3

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (1...60).contains(seconds) else { throw ValidationError("--seconds must be 1 to 60") }
    }

    func run() async throws {
        let console = Console.current
        console.progress("Looking for devices for \(seconds) s...")
        let devices: [ServiceInstance]
        do {
            devices = try await ServiceBrowser().services(within: .seconds(seconds)) { found in
                console.progress("  \(found.count) found")
            }
        } catch {
            return try console.report(CommandFailure(.unreachable, "\(error)"), json: json)
        }
        if json {
            console.print(json: DiscoveryDocument(devices: devices.map(DiscoveryDocument.Device.init)))
        } else {
            console.print(DiscoveryView(devices: devices).render(console.style))
        }
    }
}

private struct DiscoveryDocument: Encodable {
    let devices: [Device]

    struct Device: Encodable {
        let name: String
        let host: String
        let port: Int
        let addresses: [String]
        /// ID of the device; missing if the device does not announce it.
        let deviceId: String?
        /// Name of the device; missing if the device does not announce one.
        let deviceName: DeviceName?

        init(_ instance: ServiceInstance) {
            name = instance.name
            host = instance.host.description
            port = instance.port
            addresses = instance.addresses
            deviceId = instance.deviceId
            deviceName = instance.deviceName
        }
    }
}

/// Shows the devices that announced themselves. Their texts are untrusted.
struct DiscoveryView {
    let devices: [ServiceInstance]

    func render(_ style: Style) -> String {
        guard !devices.isEmpty else {
            return "No device answered. Check that it announces itself and that this network passes multicast."
        }
        var table = Table(columns: [
            .init(title: "NAME", minimum: 8), .init(title: "HOST", minimum: 12), .init(title: "ADDRESS", minimum: 15),
            .init(title: "PORT", isRightAligned: true), .init(title: "DEVICE ID"),
        ])
        table.rows = devices.map { device in
            [
                "\(device.deviceName?.description ?? device.name.printable)", "\(device.host.description)",
                "\(device.addresses.first ?? "?")", "\(String(device.port))", "\(device.deviceId ?? "?")",
            ]
        }
        return table.render(style)
    }
}
