import AgentModel
import AppClient
import AppProtocol
import ArgumentParser

struct NameCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "name", abstract: "Show and set the device's name.",
        discussion: """
            Apps, the device page, the MQTT bridge and Home Assistant show the name, and 'altnet discover' lists it. \
            It has 1 to \(DeviceName.maximumCharacters) characters of any language, in at most \
            \(DeviceName.maximumLength) bytes. A restart keeps it, and a factory reset deletes it.

              altnet name
              altnet name "Kitchen lamp"
              altnet name --clear
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The new name.", valueName: "new"))
    var new: DeviceName?

    @Flag(help: "Delete the name.")
    var clear = false

    func validate() throws {
        if new != nil, clear { throw ValidationError("a name and --clear exclude each other") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let isChange = new != nil || clear
        let status = isChange ? try await device.setName(new) : try await device.network()
        if connection.json { return console.print(json: DeviceNameDocument(deviceName: status.deviceName)) }
        console.print(status.deviceName.map(\.description) ?? "The device has no name.")
    }
}

private struct DeviceNameDocument: Encodable {
    /// Name of the device; missing without one.
    let deviceName: DeviceName?
}

extension DeviceName: ExpressibleByArgument {
    public init?(argument: String) {
        guard let name = try? DeviceName(argument) else { return nil }
        self = name
    }
}
