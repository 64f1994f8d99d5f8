import AppClient
import AppProtocol
import ArgumentParser

struct StatusCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where the device is connected.",
        discussion: """
            Says in a sentence how far the device is connected: the network in use, whether it leads to the internet, and \
            whether the device's own servers answer. Below that the signal, the addresses, and how many backup networks \
            are stored. What is wrong, and what to do, is for 'altnet diagnose'.

            The exit status says whether the agent answered, not whether the device is online: for that, see "state" with --json.
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
