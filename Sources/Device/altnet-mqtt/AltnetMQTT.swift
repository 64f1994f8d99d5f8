import AgentModel
import AppProtocol
import ArgumentParser
import BrokerIO
import Crypto
import Glibc
import Linux
import MQTTBridge

@main
struct AltnetMQTT: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "altnet-mqtt",
        abstract: "Connect the device to an MQTT broker and Home Assistant.",
        discussion: """
            Connects this device's agent to an MQTT 5 broker: publishes status, signal, decisions and outages, and \
            receives requests and commands. Apps with a key reach the device through the broker. Home Assistant \
            discovers the device automatically. Docs/integrator/fleet.md describes the topics and the messages.

            The settings are environment variables; the service reads them from /etc/altnet/altnet.conf. Passwords, \
            certificates and keys are files, never arguments.

            EXAMPLES
              systemctl enable --now altnet-mqtt
              altnet-mqtt check
              altnet-mqtt remove

            EXIT STATUS
              0   done, or ended by a signal
              64  the command line is wrong
              69  the broker or the agent does not answer
              78  the settings or the files with secrets are invalid

            ENVIRONMENT
              ALTNET_MQTT_BROKER  the broker, such as mqtts://broker.example.com
              ALTNET_MQTT_...     other settings: see Docs/reference/settings.md
              ALTNET_SOCKET       the agent's socket
              ALTNET_LAN_PORT     the agent's port for apps

            FILES
              /etc/altnet/mqtt    ca.pem, certificate.pem, key.pem, password and psk, each optional
            """,
        subcommands: [
            RunCommand.self, CheckCommand.self, RemoveCommand.self, SharedKeyCommand.self, FleetCommand.self,
            TunnelCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Connect the agent and the broker until SIGTERM or SIGINT (default).")

    func run() throws {
        let start = try Start()
        let signals = try ProcessSignals([SIGTERM, SIGINT])
        let (light, program) = (start.light, start.identifyProgram)
        // Start the loop at the first request to identify the device.
        var runner = start.runner(.serve) { AgentLoop.begin { Identification.show(light: light, program: program) } }
        ServiceManager(socket: start.environment["NOTIFY_SOCKET"])?.notify(.ready)
        _ = runner.run(until: signals)
        signals.end(ignoring: true)
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check the settings and the files with secrets.")

    func run() throws { _ = try Start() }
}

struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove the device from the broker and Home Assistant.",
        discussion: """
            Deletes this device's retained messages, so that Home Assistant removes the device and its entities. Stop \
            the service first, or it publishes them again: systemctl disable --now altnet-mqtt
            """)

    func run() throws {
        let signals = try ProcessSignals([SIGTERM, SIGINT])
        var runner = try Start().runner(.remove) {}
        guard runner.run(until: signals, within: .seconds(60)) else {
            complain("the broker or the agent does not answer: check both and try again")
            throw ExitCode(EX_UNAVAILABLE)
        }
    }
}

struct SharedKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "psk",
        abstract: "Derive a pre-shared key for the broker from the device's key.",
        discussion: """
            Prints IDENTITY:KEY, the format of the file psk in /etc/altnet/mqtt and of mosquitto's psk_file. It \
            reveals nothing about the device's key: a broker that has it cannot open sealed passwords.

            EXAMPLES
              altnet-mqtt psk --id pump-7 /var/lib/altnet/local-key >/etc/altnet/mqtt/psk
            """)

    @Option(help: ArgumentHelp("The device's id.", valueName: "id"))
    var id: String

    @Argument(help: ArgumentHelp("The file with the device's key.", valueName: "file"), completion: .file())
    var file: String

    func run() throws {
        guard (1...64).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != 0x3a }) else {
            complain("--id must have 1 to 64 printable characters and no colon")
            throw ExitCode(EX_USAGE)
        }
        do throws(BrokerSecretsFault) {
            let key = SymmetricKey(data: try BrokerSecrets.line(file))
            var code = HMAC<SHA256>(key: key)
            code.update(data: Array("altnet/1 mqtt".utf8))
            code.update(data: Array(id.utf8))
            print("\(id):\(Hex.string(code.finalize()))")
        } catch {
            complain("\(error)")
            throw ExitCode(EX_CONFIG)
        }
    }
}

/// Settings and secrets, checked before the first connection.
private struct Start {
    let environment: [String: String]
    private let options: BridgeOptions
    private let address: BrokerAddress
    private let secrets: BrokerSecrets
    private let socket: String

    init() throws {
        limitMemory()
        environment = Dictionary(
            ChildProcess.ownEnvironment.compactMap { entry in
                entry.firstIndex(of: "=").map { (String(entry[..<$0]), String(entry[entry.index(after: $0)...])) }
            }
        ) { first, _ in first }
        var values: [BridgeOptions.Name: String] = [:]
        var problems: [String] = []
        for (name, value) in environment where name.hasPrefix("ALTNET_MQTT_") {
            if let known = BridgeOptions.Name(rawValue: String(name.dropFirst("ALTNET_MQTT_".count))) {
                values[known] = value
            } else {
                problems.append("unknown setting, see Docs/reference/settings.md: \(name.printable)")
            }
        }
        var options = BridgeOptions()
        do throws(BridgeOptions.Faults) { options = try BridgeOptions(values) } catch {
            problems += error.faults.map { fault in
                let allowed = BridgeOptions.Name(rawValue: fault.name)?.form.allowed ?? ""
                return
                    "ALTNET_MQTT_\(fault.name) is \"\(String(fault.value.withoutCredentials.prefix(80)).printable)\"; allowed: \(allowed)"
            }
        }
        if options.broker == nil, problems.isEmpty { problems.append("no broker is set: set ALTNET_MQTT_BROKER") }
        var secrets: BrokerSecrets?
        do throws(BrokerSecretsFault) {
            secrets = try BrokerSecrets(folder: options.secrets, credentials: environment["CREDENTIALS_DIRECTORY"])
        } catch { problems.append("\(error)") }
        guard problems.isEmpty, let address = options.broker, let secrets else {
            for problem in problems.sorted() { complain(problem) }
            throw ExitCode(EX_CONFIG)
        }
        (self.options, self.address, self.secrets) = (options, address, secrets)
        socket = environment["ALTNET_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } ?? "/run/altnet/altnet.sock"
    }

    /// Folder of the light that identifies the device, as for `altnet improv`; nil if none is set.
    var light: String? {
        value("ALTNET_IMPROV_LED").flatMap { $0.contains("/") || $0.hasPrefix(".") ? nil : "/sys/class/leds/" + $0 }
    }
    var identifyProgram: String? { value("ALTNET_IMPROV_IDENTIFY") }

    private var lanPort: Int { value("ALTNET_LAN_PORT").flatMap { Int($0) } ?? ProtocolLimits.port }

    /// Permanent addresses of this device's radios.
    private static var hardwareAddresses: [String] {
        KernelFile.paths(matching: "/sys/class/ieee80211/*/macaddress").compactMap { KernelFile.read($0) }
    }

    private func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    func runner(_ purpose: Bridge.Purpose, identify: @escaping () -> Void) -> BridgeRunner {
        var options = options
        options.bridge.hardwareAddresses = Self.hardwareAddresses
        options.bridge.pagePort = lanPort > 0 ? lanPort : nil
        return BridgeRunner(
            options, to: address, secrets, purpose: purpose, socket: socket,
            port: lanPort,
            memory: CommandMemory(path: value("STATE_DIRECTORY").map { $0 + "/commands" }), identify: identify,
            log: complain)
    }
}

/// Identifies the device to people by a light or a program, with the settings of Improv.
@AgentLoop
private enum Identification {
    private static var signal: IdentifySignal?

    static func show(light: String?, program: String?) {
        let signal = signal ?? IdentifySignal(light: light, program: program) { complain($0) }
        self.signal = signal
        signal.show()
    }
}

func complain(_ text: String) {
    let line = "altnet-mqtt: \(text)\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}

/// Limits the data segment to 48 MiB. libmosquitto allocates a whole packet at once, up to 256 MB, and ends the
/// connection if the allocation fails.
func limitMemory() {
    var limit = rlimit(rlim_cur: 48 << 20, rlim_max: 48 << 20)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
}
