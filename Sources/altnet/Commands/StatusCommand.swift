import AppClient
import AppProtocol
import ArgumentParser

struct StatusCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where the device is connected.",
        discussion: """
            Shows the network in use with its signal, the addresses, and how many backup networks are stored. The exit \
            status says whether the agent answered, not whether the device is online: for that, see "state" with --json.
            """)

    @OptionGroup var connection: ConnectionOptions

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let status = StatusDocument(
            device: try await device.capabilities(), network: try await device.network(),
            backups: try await device.backups())
        if connection.json {
            console.print(json: status)
        } else {
            console.print(StatusView(status: status, now: console.now()).render(console.style))
        }
    }
}

struct StatusDocument: Encodable {
    let device: Capabilities
    let network: NetworkStatus
    let backups: BackupList
}
