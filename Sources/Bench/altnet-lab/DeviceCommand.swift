import AgentModel
import AppProtocol
import ArgumentParser
import DeveloperDevice
import Glibc
import Linux
import Simulation
import Synchronization

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Runs a device for app development: the real agent in a simulated world.",
        discussion: """
            The agent's core, key file and server are the real ones; access points, walls and radio are simulated. It \
            needs no radio and no root, and runs in containers and in CI. Apps find it and connect to it as to any \
            device. It prints its pairing code. Keys on the terminal, and 'altnet-lab world', cut the power of access \
            points, change their signals or move the device. Docs/integrator/test-devices.md describes it.

            EXAMPLES
              altnet-lab device
              altnet-lab device --setup --scenario block-of-flats
              altnet-lab device --scenario ./my-flat.scenario --speed 10
              altnet-lab device --key dev.key --json &
              altnet-lab world repeater off

            EXIT STATUS
              0   stopped by a key, SIGINT or SIGTERM
              1   the device could not start
              64  the command line is wrong
            """)

    @Option(
        help: ArgumentHelp("The name of a scenario of the library, or the path of a .scenario file.", valueName: "name")
    )
    var scenario = "house-with-repeater"

    @Flag(help: "Also play the events of the scenario; otherwise use only its places and networks.")
    var story = false

    @Flag(help: "Let signals vary as in the scenario, and scans miss an access point now and then.")
    var noise = false

    @Flag(name: .customLong("new"), help: "Start without the scenario's networks in the device.")
    var isNew = false

    @Flag(
        help: """
            Show the page of the setup access point as a phone sees it: --new, --page 8080 unless another port is given, \
            and no answer while the device tries a network and for 5 s afterwards.
            """)
    var setup = false

    @Option(help: "The speed of the world, 1 to 1000 times real time.")
    var speed = 1

    @Option(help: "The seed of the world's random numbers.")
    var seed: UInt64 = 1

    @Option(help: "The port for apps in the network (TLS); 0 for any free port.")
    var port = ProtocolLimits.port

    @Option(help: "Serve the page of the device's access point on this port of the loopback interface.")
    var page: Int?

    @Option(
        help: ArgumentHelp(
            "A folder for the device's identity and networks (default: a new device each time).",
            valueName: "folder"))
    var state: String?

    @Option(
        help: ArgumentHelp(
            "The file of the device's pairing code: read if it exists, otherwise written.", valueName: "file"))
    var key: String?

    @Option(help: ArgumentHelp("The socket for programs on this machine.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("The socket for 'altnet-lab world'.", valueName: "path"))
    var control: String?

    @Flag(inversion: .prefixedNo, help: "Announce the device by DNS-SD.")
    var announce = true

    @Flag(help: "Print lines of JSON: first the data to connect, then each event as apps get it.")
    var json = false

    func validate() throws {
        guard DeveloperDevice.Settings.allowedSpeeds.contains(speed) else {
            throw ValidationError("--speed must be 1 to 1000")
        }
        guard (0...65_535).contains(port) else { throw ValidationError("a port must be a number from 0 to 65535") }
        guard page.map({ (1...65_535).contains($0) }) ?? true else {
            throw ValidationError("the port of the page must be a number from 1 to 65535")
        }
    }

    func run() async throws {
        let signals = try ProcessSignals([SIGTERM, SIGINT])
        let (happenings, teller) = AsyncStream.makeStream(of: Happening.self)
        signals.deliver { _ in teller.yield(.end) }
        defer { signals.end(ignoring: true) }
        let screen = DeviceScreen(isJSON: json)
        let running = try await start(screen)
        screen.show(try introduction(running))
        await running.begin()
        let keys = json ? nil : await TerminalKeys { teller.yield(.key($0)) }
        if keys != nil { screen.show(WorldKeys.help) }
        var meaning = WorldKeys()
        wait: for await happening in happenings {
            switch happening {
            case .end: break wait
            case .key(let key):
                switch meaning.action(for: key, in: await running.device.world) {
                case .change(let change)?: await self.change(change, running.device, screen)
                case .state?: screen.show(await running.device.world.text)
                case .help?: screen.show(WorldKeys.help)
                case .end?: break wait
                case nil: break
                }
            }
        }
        await keys?.end()
        await running.stop()
        SocketFolder.remove(sockets)
    }

    /// Time that a phone needs to find an access point again.
    private static let returnTime = Duration.seconds(5)

    private var pagePort: Int? { page ?? (setup ? 8080 : nil) }

    private var sockets: String { SocketFolder.path(port: port == 0 ? Int(getpid()) : port) }

    private enum Happening: Sendable {
        case key(UInt8)
        case end
    }

    private func start(_ screen: DeviceScreen) async throws -> RunningDevice {
        do {
            var settings = DeveloperDevice.Settings(try ScenarioLibrary.scenario(named: scenario))
            (settings.hasStory, settings.hasNoise, settings.isNew) = (story, noise, isNew || setup)
            (settings.seed, settings.speed) = (seed, speed)
            var places = RunningDevice.Places(sockets: sockets)
            if let socket { places.socket = socket }
            if let control { places.control = control }
            if socket == nil || control == nil { try SocketFolder.make(sockets) }
            (places.state, places.port, places.isAnnounced, places.page) = (state, port, announce, pagePort)
            if setup { places.returnTime = Self.returnTime }
            let file = key.map { PairedKeyFile(path: $0) }
            if let file, file.isThere { places.key = try file.readCode() }
            let running = try await RunningDevice(settings, at: places) { screen.show($0) }
            if let file, !file.isThere { try file.write(running.pairingCode) }
            return running
        } catch {
            SocketFolder.remove(sockets)
            _ = "\(error)\n".withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
            throw ExitCode.failure
        }
    }

    private func change(_ change: String, _ device: DeveloperDevice, _ screen: DeviceScreen) async {
        do throws(WorldError) { _ = try await device.change(change) } catch { screen.show(error.message) }
    }

    private func introduction(_ running: RunningDevice) throws -> String {
        let places = running.places
        let code = running.pairingCode
        if json {
            return String(
                decoding: try OutsideJSON.encode(
                    DeviceIntroduction(
                        deviceId: code.device.deviceId, code: code.uri(), port: running.port,
                        socket: places.socket, control: places.control, scenario: scenario, speed: speed)),
                as: UTF8.self)
        }
        return """
            Device id  \(code.device.deviceId)
            Code       \(code.uri())
            Port       \(running.port)\(running.announcementProblem.map { " (not announced: \($0))" } ?? "")
            Socket     \(places.socket)
            World      \(places.control)\(places.page.map { "\nPage       http://127.0.0.1:\($0)/" } ?? "")
            Scenario   \(scenario)\(speed == 1 ? "" : ", \(speed) times real time")
            """
    }
}

private struct DeviceIntroduction: Encodable {
    let deviceId: String
    let code: String
    let port: Int
    let socket: String
    let control: String
    let scenario: String
    let speed: Int
}

private struct WorldLine: Encodable {
    let change: String
    let time: Timestamp
}

/// Prints the device's notices as text or JSON.
private final class DeviceScreen: Sendable {
    private let isJSON: Bool
    private let shown = Mutex(Shown())

    private struct Shown {
        var events = 0
        /// Last text about the network. Events that do not change the text are skipped.
        var network: String?
    }

    init(isJSON: Bool) { self.isJSON = isJSON }

    func show(_ line: String) {
        print(line)
        fflush(nil)
    }

    func show(_ notice: DeveloperDevice.Notice) {
        switch notice {
        case .event(let body, let time):
            if isJSON {
                let number = shown.withLock { shown in
                    shown.events += 1
                    return shown.events
                }
                show(String(decoding: Event(seq: number, time: time, body: body).line(), as: UTF8.self))
            } else if let text = body.text, isNews(text, of: body) {
                show(text, time)
            }
        case .world(let change, let time):
            guard isJSON else { return show("world: \(change)", time) }
            if let line = try? OutsideJSON.encode(WorldLine(change: change, time: time)) {
                show(String(decoding: line, as: UTF8.self))
            }
        case .log(let level, let text): if !isJSON, level == .warning || level == .error { show("agent: \(text)") }
        }
    }

    private func isNews(_ text: String, of body: Event.Body) -> Bool {
        guard case .networkChanged = body else { return true }
        return shown.withLock { shown in
            defer { shown.network = text }
            return text != shown.network
        }
    }

    private func show(_ text: String, _ time: Timestamp) {
        let seconds = time.millisecondsSince1970 / 1000
        let parts = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
        show(parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":") + "  " + text)
    }
}

extension Event.Body {
    /// Text for the terminal; nil for events that are not shown.
    fileprivate var text: String? {
        switch self {
        case .decision(let decision): decision.text
        case .networkChanged(let status):
            "network: \(status.state.rawValue)" + (status.ssid.map { " \($0)" } ?? "")
                + (status.connectivity.map { ", internet \($0.internet.rawValue)" } ?? "")
        case .switchProgress(let status): "switch \(status.switchId): \(status.text ?? status.phase.rawValue)"
        case .backupsChanged(let list): "list: \(list.networks.map { "\($0.ssid)" }.joined(separator: ", "))"
        case .signal, .scanFinished, .targetChanged, .portalRequest, .portalEnded, .gap: nil
        }
    }
}

/// Reads single keys from a terminal, without echo.
@AgentLoop
private final class TerminalKeys {
    private let before: termios
    private var watch: ReadWatch?

    /// Starts to read keys.
    /// - Parameter onKey: called with each key.
    /// - Returns: nil without a terminal, or if the process runs in the background.
    init?(onKey: @escaping @Sendable (UInt8) -> Void) {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp(),
            tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        before = settings
        settings.c_lflag &= ~tcflag_t(ECHO | ICANON)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
        watch = ReadWatch(fileDescriptor: STDIN_FILENO) { [weak self] in
            var byte: UInt8 = 0
            let count = read(STDIN_FILENO, &byte, 1)
            if count == 1 { onKey(byte) } else if count == 0 || errno != EINTR { self?.watch = nil }
        }
    }

    func end() {
        watch = nil
        var settings = before
        tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    }
}
