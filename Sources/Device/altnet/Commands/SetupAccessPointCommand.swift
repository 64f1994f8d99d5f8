import Agent
import AppClient
import AppProtocol
import ArgumentParser

struct SetupAccessPointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup-ap", abstract: "Open and close the setup access point.",
        discussion: """
            Through the setup access point, a phone can give the device a network. Its name and password are on the \
            device's label; 'altnet setup-ap code' shows them on the device. It opens automatically when no network is \
            stored, when no stored network is in range, or when none can be joined. It closes when the device is \
            online.
            """,
        subcommands: [Show.self, Open.self, Close.self, Code.self], defaultSubcommand: Show.self)

    struct Show: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show whether the setup access point is open, and why.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            guard let setupAccessPoint = try await device.network().rescue else {
                throw CommandFailure(.protocolMismatch, "this device has no setup access point")
            }
            console.show(setupAccessPoint, connection)
        }
    }

    struct Open: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open the setup access point for ALTNET_SETUP_AP_OPEN_S seconds.",
            discussion: """
                It stays open longer while a browser uses it. If the radio cannot do both, it is open only while the \
                device is not in a network.
                """)

        @OptionGroup var connection: ConnectionOptions

        @Flag(help: ArgumentHelp("Open it because the device's button was pressed.", visibility: .hidden))
        var button = false

        func run(_ device: DeviceClient, _ console: Console) async throws {
            console.show(try await device.openSetupAccessPoint(SetupAccessPointRequest(isButton: button)), connection)
        }
    }

    struct Close: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close the setup access point until the device has been connected again.",
            discussion: "It does not open automatically until then, or until the agent restarts.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            console.show(try await device.closeSetupAccessPoint(), connection)
        }
    }

    struct Code: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "code", abstract: "Show the setup access point's name, password and QR code.",
            discussion: """
                Run this on the device, as root. The password is derived from the device's key and stays the same \
                until the key changes: print it on the label.
                """)

        @OptionGroup var local: LocalOptions

        @Option(help: ArgumentHelp("The state directory (default: the agent's).", valueName: "path"))
        var stateDir: String?

        @Flag(help: "Print JSON.")
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
            guard let point = SetupAccessPointCredentials(of: identity.key, named: settings.setupAccessPoint?.name)
            else { return }
            json ? console.print(json: CodeDocument(point)) : console.show(point)
        }
    }
}

private struct CodeDocument: Encodable {
    /// Code of the access point, which contains its password.
    let code: String

    init(_ point: SetupAccessPointCredentials) { code = point.code() }
}

extension Console {
    fileprivate func show(_ setupAccessPoint: SetupAccessPointStatus, _ connection: ConnectionOptions) {
        if connection.json { return print(json: setupAccessPoint) }
        print(DisplayText.setupAccessPoint(setupAccessPoint, now: now()))
    }

    /// Shows the code as a picture and text on a terminal, else as one line.
    func show(_ point: SetupAccessPointCredentials) {
        let code = point.code()
        guard style.goesToTerminal else { return print(code) }
        draw(code)
        let password = point.password.withBytes { String(decoding: $0, as: UTF8.self) }
        print("Setup AP      \(point.ssid)\nPassword      \(password)\nCode          \(code)")
    }
}
