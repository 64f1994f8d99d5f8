import Agent
import AppClient
import AppProtocol
import ArgumentParser

struct RescueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rescue", abstract: "Open and close the device's own access point.",
        discussion: """
            Where no network connects the device it opens an access point of its own, by which a phone gives it one. Its \
            name and password are on the device's label; 'altnet rescue code' shows them on the device. It opens by \
            itself when no network is stored, when none that is stored is in range, and when none lets the device in; it \
            closes when one does.
            """,
        subcommands: [Show.self, Open.self, Close.self, Code.self], defaultSubcommand: Show.self)

    struct Show: DeviceCommand {
        static let configuration = CommandConfiguration(abstract: "Show whether the access point is open, and why.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            guard let rescue = try await device.network().rescue else {
                throw CommandFailure(.badData, "This device has no access point of its own.")
            }
            console.show(rescue, connection)
        }
    }

    struct Open: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open the access point for ALTNET_RESCUE_OPEN_S seconds.",
            discussion: """
                It stays open for longer while a browser asks it for something. On a radio that cannot hold both, it is \
                open while the device is in no network.
                """)

        @OptionGroup var connection: ConnectionOptions

        @Flag(help: ArgumentHelp("A button of the device asks for it.", visibility: .hidden))
        var button = false

        func run(_ device: DeviceClient, _ console: Console) async throws {
            console.show(try await device.openRescue(RescueRequest(isButton: button)), connection)
        }
    }

    struct Close: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close the access point until the device has been connected again.",
            discussion: "Until then it does not open by itself. A restart of the agent ends that.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            console.show(try await device.closeRescue(), connection)
        }
    }

    struct Code: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "code", abstract: "Show the access point's name, its password and a QR code for a phone.",
            discussion: """
                To be run on the device, as root. The password follows from the device's key and stays the same for as \
                long as that does: it belongs on the label.
                """)

        @OptionGroup var local: LocalOptions

        @Option(help: ArgumentHelp("The state directory (default: the agent's).", valueName: "path"))
        var stateDir: String?

        @Flag(help: "Print as JSON.")
        var json = false

        func run() async throws {
            let console = Console.current
            do { try show(console) } catch let failure as any KeyFileFailure {
                try console.report(CommandFailure(failure), json: json)
            }
        }

        private func show(_ console: Console) throws {
            let settings = try AgentSettings.ofThisMachine()
            let identity = try DeviceIdentity.read(from: stateDir ?? settings.stateDirectory)
            guard let point = DeviceAccessPoint(of: identity.key, named: settings.rescue?.name) else { return }
            json ? console.print(json: CodeDocument(point)) : console.show(point)
        }
    }
}

private struct CodeDocument: Encodable {
    /// Contains the access point's password.
    let code: String

    init(_ point: DeviceAccessPoint) { code = point.code() }
}

extension Console {
    fileprivate func show(_ rescue: RescueStatus, _ connection: ConnectionOptions) {
        if connection.json { return print(json: rescue) }
        print(Wording.rescue(rescue, now: now()))
    }

    /// Shows the code as a picture and text on a terminal, else as one line.
    func show(_ point: DeviceAccessPoint) {
        let code = point.code()
        guard style.goesToTerminal else { return print(code) }
        draw(code)
        let password = point.password.withBytes { String(decoding: $0, as: UTF8.self) }
        print("Access point  \(point.ssid)\nPassword      \(password)\nCode          \(code)")
    }
}
