import Agent
import AgentModel
import ArgumentParser
import Glibc
import Improv
import Linux

struct ImprovCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "improv",
        abstract: "Take a network from a phone or a browser, by Improv.",
        discussion: """
            Improv Wi-Fi gives a device its network from Home Assistant, from a browser or from an app, over Bluetooth LE \
            or over a serial line. What comes is an 'altnet switch --new': the network is joined, tried and stored, or the \
            device stays where it was, and 'altnet history' has the reason. Docs/user/setup-without-a-screen.md says \
            more.
            """,
        subcommands: [ImprovBLECommand.self, ImprovSerialCommand.self])
}

struct ImprovBLECommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ble",
        abstract: "Take a network over Bluetooth LE.",
        discussion: """
            Offers Improv's service by BlueZ. A network is taken within ALTNET_IMPROV_S after the signal SIGUSR1, which \
            'systemctl reload altnet-improv-ble' sends, and the button where altnet-improv-ble.service is enabled; where the \
            device has no network yet, also within that time after the start (ALTNET_IMPROV_AT_START). Nothing is encrypted \
            on the way but what the phone and BlueZ have agreed upon, which is why the time is short.

            It waits for the agent, for bluetoothd and for an adapter, whichever is missing, and goes on for ever.

            EXIT STATUS
              0   a signal has ended it
              78  the agent's settings are not in order
            """)

    @OptionGroup var options: ImprovCommandOptions

    @Option(help: ArgumentHelp("The Bluetooth adapter, as in hci0 (default: the first).", valueName: "name"))
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
        abstract: "Take a network over a serial line.",
        discussion: """
            Speaks Improv on a tty: a UART, or the port that a USB gadget offers (g_serial, /dev/ttyGS0). The cable is \
            all the authorisation that it takes. Lines of a console in between do no harm; a login on the same tty does.

            EXIT STATUS
              0   a signal has ended it
              74  the line cannot be opened, or has gone
              78  the agent's settings are not in order
            """)

    @OptionGroup var options: ImprovCommandOptions

    @Option(help: ArgumentHelp("In baud; of no meaning for USB (default: 115200).", valueName: "baud"))
    var speed = 115_200

    @Argument(help: ArgumentHelp("The tty, as in /dev/ttyGS0.", valueName: "device"), completion: .file())
    var device: String

    func validate() throws {
        guard SerialPort.speeds[speed] != nil else {
            let speeds = SerialPort.speeds.keys.sorted().map(String.init).joined(separator: ", ")
            throw ValidationError("--speed is one of \(speeds).")
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
            "The file with the agent's settings (default: \(AgentSettings.packagedFile), if it is there).",
            valueName: "file"))
    var settings: String?
}

private struct ImprovProgram {
    private let options: ImprovOptions
    private let agent: ImprovAgent
    private let say: @Sendable (String) -> Void

    init(_ settings: AgentSettings, _ options: ImprovCommandOptions, _ console: Console) {
        self.options = settings.improv
        agent = ImprovAgent(socket: settings.socketPath, page: settings.improv.page)
        say = { console.complain($0) }
    }

    @AgentLoop
    func runBluetooth(adapter: String?) async throws {
        let signals = try ProcessSignals([SIGTERM, SIGINT, SIGUSR1])
        let service = service(
            ImprovSettings(
                authorization: .init(window: options.window, isGivenAtStart: options.isOpenAtStart)), .bluetooth)
        let peripheral = BluetoothPeripheral(
            adapter: adapter, capabilities: service.capabilities, saying: say
        ) { service.handle($0) }
        service.start(peripheral)
        peripheral.start()
        let manager = ServiceManager(socket: getenv("NOTIFY_SOCKET").map { String(cString: $0) })
        manager?.tell(.ready)
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
        let identify = IdentifySignal(light: options.light, program: options.identifyProgram, saying: say)
        return ImprovService(settings, medium: medium, agent: agent, identify: identify, saying: say)
    }
}
