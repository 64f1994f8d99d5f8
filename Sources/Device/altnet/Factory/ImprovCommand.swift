import Agent
import AgentModel
import ArgumentParser
import Glibc
import Improv
import Linux

struct ImprovCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "improv",
        abstract: "Set up Wi-Fi from a phone or a browser with Improv.",
        discussion: """
            With Improv Wi-Fi, Home Assistant, a browser or an app gives the device a network over Bluetooth LE or a \
            serial line. The device then does the same as 'altnet switch --new': it joins, checks and stores the \
            network, or goes back, and 'altnet history' shows why. See Docs/user/setup-without-a-screen.md.
            """,
        subcommands: [ImprovBLECommand.self, ImprovSerialCommand.self])
}

struct ImprovBLECommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ble",
        abstract: "Set up Wi-Fi over Bluetooth LE.",
        discussion: """
            Offers the Improv service through BlueZ. Accepts a network for ALTNET_IMPROV_S seconds after SIGUSR1, \
            which 'systemctl reload altnet-improv-ble' and the button send. If the device has no network yet, also \
            accepts one for this time after the start (ALTNET_IMPROV_AT_START). The time is short because only the \
            Bluetooth pairing, if any, encrypts the transfer.

            Waits for the agent, bluetoothd and an adapter if one is missing.

            EXIT STATUS
              0   ended by a signal
              78  the agent's settings are invalid
            """)

    @OptionGroup var options: ImprovCommandOptions

    @Option(help: ArgumentHelp("The Bluetooth adapter, such as hci0 (default: the first).", valueName: "name"))
    var adapter: String?

    func run() async throws {
        let console = Console.current
        do {
            let settings = try AgentSettings.ofThisMachine(file: options.settings)
            try await ImprovProgram(settings, options, console).runBluetooth(adapter: adapter)
        } catch let failure as CommandFailure {
            try console.report(failure, json: false)
        }
    }
}

struct ImprovSerialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serial",
        abstract: "Set up Wi-Fi over a serial line.",
        discussion: """
            Offers Improv on a tty: a UART, or the port of a USB gadget (g_serial, /dev/ttyGS0). Anyone with the cable \
            can give the device a network. Console output on the same tty is harmless; a login is not.

            EXIT STATUS
              0   ended by a signal
              74  the line cannot be opened or was lost
              78  the agent's settings are invalid
            """)

    @OptionGroup var options: ImprovCommandOptions

    @Option(help: ArgumentHelp("Baud rate, ignored for USB (default: 115200).", valueName: "baud"))
    var speed = 115_200

    @Argument(help: ArgumentHelp("The tty, such as /dev/ttyGS0.", valueName: "device"), completion: .file())
    var device: String

    func validate() throws {
        guard SerialPort.speeds[speed] != nil else {
            let speeds = SerialPort.speeds.keys.sorted().map(String.init).joined(separator: ", ")
            throw ValidationError("--speed must be one of \(speeds)")
        }
    }

    func run() async throws {
        let console = Console.current
        do {
            let settings = try AgentSettings.ofThisMachine(file: options.settings)
            try await ImprovProgram(settings, options, console).runSerial(device, speed: speed)
        } catch let failure as CommandFailure {
            try console.report(failure, json: false)
        } catch let error as SystemError {
            try console.report(CommandFailure(.deviceFailure, "\(error)"), json: false)
        }
    }
}

struct ImprovCommandOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The agent's settings file (default: \(AgentSettings.packagedFile), if it exists).",
            valueName: "file"))
    var settings: String?
}

private struct ImprovProgram {
    private let options: ImprovOptions
    private let agent: ImprovAgent
    private let log: @Sendable (String) -> Void

    init(_ settings: AgentSettings, _ options: ImprovCommandOptions, _ console: Console) {
        self.options = settings.improv
        agent = ImprovAgent(socket: settings.socketPath, page: settings.improv.page)
        log = { console.complain($0) }
    }

    @AgentLoop
    func runBluetooth(adapter: String?) async throws {
        let signals = try ProcessSignals([SIGTERM, SIGINT, SIGUSR1])
        let service = service(
            ImprovSettings(
                authorization: .init(window: options.window, isGivenAtStart: options.isOpenAtStart)), .bluetooth)
        let peripheral = BluetoothPeripheral(
            adapter: adapter, capabilities: service.capabilities, logging: log
        ) { service.handle($0) }
        service.start(peripheral)
        peripheral.start()
        let manager = ServiceManager(socket: getenv("NOTIFY_SOCKET").map { String(cString: $0) })
        manager?.notify(.ready)
        await withCheckedContinuation { continuation in
            signals.deliver { number in
                Task { @AgentLoop in
                    guard number != SIGUSR1 else { return service.handle(.authorized) }
                    signals.end(ignoring: true)
                    continuation.resume()
                }
            }
        }
        service.end()
        peripheral.end()
    }

    @AgentLoop
    func runSerial(_ device: String, speed: Int) async throws {
        let signals = try ProcessSignals([SIGTERM, SIGINT])
        let service = service(ImprovSettings(authorization: nil), .serial)
        let (ends, end) = AsyncStream.makeStream(of: SystemError?.self)
        let port = SerialPort(path: device) {
            service.handle($0)
        } onEnd: {
            end.yield($0)
        }
        try port.start(speed: speed)
        service.start(port)
        signals.deliver { _ in end.yield(nil) }
        var reason: SystemError?
        for await end in ends {
            reason = end
            break
        }
        signals.end(ignoring: true)
        service.end()
        port.end()
        if let reason { throw reason }
    }

    @AgentLoop
    private func service(_ settings: ImprovSettings, _ medium: ImprovMedium) -> ImprovService {
        let identify = IdentifySignal(light: options.light, program: options.identifyProgram, logging: log)
        return ImprovService(settings, medium: medium, agent: agent, identify: identify, logging: log)
    }
}
