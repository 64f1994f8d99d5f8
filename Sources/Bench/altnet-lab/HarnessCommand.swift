import AppClient
import ArgumentParser
import FoundationEssentials
import Glibc
import Harness
import Synchronization

struct HarnessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "harness", abstract: "Checks whether a device follows the app protocol.",
        discussion: """
            Checks any device, real or virtual, over the network, the agent's socket or an MQTT broker. Each check prints what \
            Docs/reference/protocol.md requires and what the device did, and leaves the device unchanged. The exit \
            status is 0 if no check failed. Docs/integrator/test-devices.md explains how to build a bench.
            """)

    @Option(
        help: ArgumentHelp("The device in the network; write an IPv6 address in brackets.", valueName: "host[:port]"),
        transform: DeviceAddress.init)
    var device: DeviceAddress?

    @Option(help: ArgumentHelp("The socket of the agent on this machine.", valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "The device's MQTT broker, mqtts://HOST[:PORT][/PREFIX]. Needs altnet-mqtt.", valueName: "address"))
    var broker: String?

    @Option(help: ArgumentHelp("The user name at the broker.", valueName: "name"))
    var brokerUser: String?

    @Option(
        help: ArgumentHelp(
            "The directory with the broker's ca.pem, certificate.pem, key.pem, password and psk, each optional.",
            valueName: "path"))
    var brokerSecrets: String?

    @Option(help: ArgumentHelp("The device's id, if the key file lacks it.", valueName: "id"))
    var deviceId: String?

    @Option(
        help: ArgumentHelp("The file of the device's key, from 'altnet pair', or its local-key.", valueName: "path"))
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "A file of networks for switches (see Docs/integrator/test-devices.md).", valueName: "path"))
    var networks: String?

    @Option(help: ArgumentHelp("A program that switches access points on and off.", valueName: "program"))
    var hook: String?

    @Option(
        help: ArgumentHelp(
            "Run only these checks: an id, its first characters, or a pattern with *.", valueName: "pattern"))
    var only: [String] = []

    @Option(help: ArgumentHelp("Skip these checks.", valueName: "pattern"))
    var skip: [String] = []

    @Flag(help: "Only print the checks.")
    var list = false

    @Flag(help: "Skip the checks that send a list of networks.")
    var keepList = false

    @Flag(help: "Allow the loss of stored networks whose passwords are not in --networks.")
    var destructive = false

    @Option(help: ArgumentHelp("Write the report as JUnit XML.", valueName: "path"))
    var junit: String?

    @Option(help: ArgumentHelp("Write the report as JSON.", valueName: "path"))
    var json: String?

    @Option(help: ArgumentHelp("Seconds that an answer may take.", valueName: "seconds"))
    var answerWithin = 10

    @Option(help: ArgumentHelp("Seconds that a switch may take, with its rollback.", valueName: "seconds"))
    var switchWithin = 120

    func validate() throws {
        let unmatched = Check.unmatched(only + skip)
        guard unmatched.isEmpty else {
            throw ValidationError("no check matches \(unmatched.joined(separator: ", ")): see --list")
        }
        guard !list else { return }
        guard [device != nil, socket != nil, broker != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("give one of --device, --socket and --broker")
        }
        guard socket != nil || keyFile != nil else {
            throw ValidationError("a device in the network or at a broker needs its key: give --key-file")
        }
        guard (1...3600).contains(answerWithin), (1...3600).contains(switchWithin) else {
            throw ValidationError("the waits must be 1 to 3600 seconds")
        }
    }

    func run() async throws {
        let checks = Check.selected(only: only.map { Pattern($0) }, skip: skip.map { Pattern($0) })
            .filter { !keepList || !$0.touchesBackups }
        guard !checks.isEmpty else { throw ValidationError("--skip and --keep-list leave no check: see --list") }
        if list {
            for check in checks { print("\(check.id): \(check.title) (\(check.section))") }
            return
        }
        let harness = Harness(target: try target(), bench: try bench(), isDestructive: destructive)
        // Fail for an unwritable file before the checks use the device.
        for path in [junit, json].compactMap(\.self) { try Data().write(to: URL(filePath: path)) }
        let screen = HarnessScreen(count: checks.count)
        Interruption.expect()
        let report: Report
        do {
            report = try await harness.run(checks, isStopped: { Interruption.hasCome }, progress: { screen.show($0) })
        } catch {
            throw ValidationError("\(error)")
        }
        screen.end()
        print(report.summary)
        if let junit { try Data(report.junit.utf8).write(to: URL(filePath: junit)) }
        if let json { try Data(report.json().utf8).write(to: URL(filePath: json)) }
        if !report.isConforming || Interruption.hasCome { throw ExitCode.failure }
    }

    private func target() throws -> DeviceUnderTest {
        let key = try keyFile.map { try PairedKeyFile(path: $0).read(deviceId: deviceId) }
        let (patience, switchTime) = (Duration.seconds(answerWithin), Duration.seconds(switchWithin))
        if let socket { return DeviceUnderTest(socket: socket, key: key, patience: patience, switchTime: switchTime) }
        if let broker, let key {
            let route = BrokerRoute(broker, user: brokerUser, secrets: brokerSecrets)
            return DeviceUnderTest(broker: route, key: key, patience: patience, switchTime: switchTime)
        }
        guard let device, let key else { throw ValidationError("give --device and --key-file") }
        return DeviceUnderTest(
            host: device.host, port: device.port, key: key, patience: patience, switchTime: switchTime)
    }

    private func bench() throws -> Bench {
        Bench(
            networks: try networks.map { try NetworksFile(path: $0).networks } ?? [],
            accessPoints: hook.map { HookProgram(path: $0, networksFile: networks) })
    }
}

/// Handles SIGINT and SIGTERM. After the first signal, the current check ends and the device is restored. A second
/// signal ends the process.
private enum Interruption {
    private static let hasArrived = Atomic(false)

    static var hasCome: Bool { hasArrived.load(ordering: .relaxed) }

    static func expect() {
        // Also initializes the static value, because a signal handler must not do so.
        hasArrived.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            signal(number) { number in
                Interruption.hasArrived.store(true, ordering: .relaxed)
                signal(number, SIG_DFL)
            }
        }
    }
}

private struct HarnessScreen {
    private let hasColour: Bool
    private let showsProgress = isatty(STDERR_FILENO) == 1
    private let count: Int

    init(count: Int) {
        self.count = count
        hasColour = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil
    }

    func show(_ progress: Harness.Progress) {
        switch progress {
        case .began(let check): write("\r\u{1b}[K\(check.id) of \(count)")
        case .ended(let result):
            write("\r\u{1b}[K")
            print(result.text { text, colour in hasColour ? "\u{1b}[\(colour)m\(text)\u{1b}[0m" : text })
            fflush(nil)
        }
    }

    func end() { write("\r\u{1b}[K") }

    private func write(_ text: String) {
        guard showsProgress else { return }
        _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }
}
