import AgentModel
import AppProtocol
import ArgumentParser
import BrokerIO
import FleetOperator
import Glibc
import Linux
import MQTTBridge
import Terminal

struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "See the devices of a fleet at their broker, and change a password for all of them.",
        discussion: """
            For the owner of the devices, on any machine that reaches the broker: it needs no agent. 'altnet fleet' is the same. \
            The broker, the user's name and the folder with password and certificates are those of the options, or else of the \
            environment, as altnet-mqtt has them.

            EXAMPLES
              altnet fleet --broker mqtts://broker.example.com
              altnet fleet list --risk any --last-seen 1h
              altnet fleet apply december.json --keys-from 'pass show fleet/keys' --dry-run
              altnet fleet apply december.json --keys-from 'pass show fleet/keys'
              altnet fleet undo december.json --keys-from 'pass show fleet/keys'

            EXIT STATUS
              0   done
              1   a device refuses the change, or has gone back to its old password
              64  the command line is wrong
              65  a file is not as it should be, or others can read it
              69  the broker does not answer
              75  devices are offline or do not answer: the same command goes on later
              78  the broker's address, or the files with secrets, are not in order

            ENVIRONMENT
              ALTNET_MQTT_BROKER, ALTNET_MQTT_USER, ALTNET_MQTT_SECRETS, ALTNET_MQTT_PREFIX  in place of the options
              NO_COLOR  if set and not empty, output has no colour
            """,
        subcommands: [List.self, Apply.self, Undo.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the devices, and which of them are at risk.",
            discussion: """
                Shows what the broker keeps. When a device was last seen is told by its own clock, and to 15 minutes. A risk is one \
                of these:

                  oneNetwork    no stored network but its own was seen within a day and has not failed
                  weakSignal    Wi-Fi below -75 dBm
                  notConnected  its network leads less far than it has to
                  radio         its radio has a fault
                  outages       three outages or more today
                """)

        @OptionGroup var broker: BrokerArguments

        @Option(
            help: ArgumentHelp(
                "Only devices that were last seen this long ago or longer, as in 90s, 15min, 1h or 2d.",
                valueName: "duration"), transform: duration)
        var lastSeen: Duration?

        @Option(
            help: ArgumentHelp("Only devices with this risk; any for those with one.", valueName: "risk"),
            completion: .list(["any"] + DeviceEntry.Risk.allCases.map(\.rawValue)), transform: risks)
        var risk: Set<DeviceEntry.Risk>?

        @Option(help: ArgumentHelp("Only devices with this reason, as in wrongKey.", valueName: "reason"))
        var reason: String?

        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            let devices = try FleetSession(broker).roster()
            let filter = DeviceFilter(unseenFor: lastSeen, risks: risk, reason: reason)
            let now = Timestamp.now
            let chosen = devices.devices.values.filter { filter.takes($0, at: now) }.sorted { $0.id < $1.id }
            if json {
                show(json: chosen.map(DeviceView.init))
            } else {
                print(DeviceView.table(chosen, now: now).render(.terminal(STDOUT_FILENO)))
                print("\(chosen.count) of \(devices.devices.count) devices")
            }
            if devices.strange > 0 { complain("\(devices.strange) messages were not understood") }
        }
    }

    struct Apply: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give the devices a newer password of their network, beside the one that they have.",
            discussion: """
                The file is JSON, and for its owner's eyes alone (chmod 600):

                  {"changeId":"2026-12","ssid":"HomeNet","password":"correct horse 2","keepFor":604800}

                Each device keeps both passwords, and gives the old one up once its network takes the newer one; after keepFor \
                seconds without that it gives the newer one up. With "confirmWithin":120 each device tries the newer password at \
                once. It keeps it if it comes back over it within that time, and else goes back and forgets it. "devices":["pump-1"] \
                names the devices; without it all are meant that have a key.

                The password is sealed for each device with the key that the device shows and proves: the broker learns nothing. A \
                line of the keys is a pairing code, or a device's id and its key.

                How far each device has come is kept beside the file, so that the same command goes on after a break or for devices \
                that were offline.
                """)

        @OptionGroup var broker: BrokerArguments
        @OptionGroup var change: ChangeArguments

        @Flag(help: "Tell what would be done, and ask no device.")
        var dryRun = false

        func run() throws { try change.carryOut(.apply, broker, dryRun: dryRun) }
    }

    struct Undo: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a newer password back from the devices whose network has not taken it.",
            discussion:
                "With the file and the keys that 'apply' had. Devices that have the newer password alone keep it.")

        @OptionGroup var broker: BrokerArguments
        @OptionGroup var change: ChangeArguments

        @Flag(help: "Tell what would be done, and ask no device.")
        var dryRun = false

        func run() throws { try change.carryOut(.undo, broker, dryRun: dryRun) }
    }

    @Sendable static func duration(_ text: String) throws -> Duration {
        let units: [String: Int64] = ["s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400]
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let unit = units[String(text.dropFirst(digits.count))],
            (1...(36_500 * 86_400 / unit)).contains(number)
        else { throw ValidationError("a duration is a number and s, min, h or d, as in 1h") }
        return .seconds(number * unit)
    }

    @Sendable static func risks(_ text: String) throws -> Set<DeviceEntry.Risk> {
        if text == "any" { return Set(DeviceEntry.Risk.allCases) }
        guard let risk = DeviceEntry.Risk(rawValue: text) else {
            let names = DeviceEntry.Risk.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("a risk is any, \(names)")
        }
        return [risk]
    }
}

struct BrokerArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The broker: mqtts://HOST or mqtt://HOST, and :PORT where it is another one.", valueName: "address"))
    var broker: String?

    @Option(help: ArgumentHelp("The name for the broker; its password is the file password.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The folder of ca.pem, certificate.pem, key.pem, password and psk, each where it is wanted.",
            valueName: "path"), completion: .directory)
    var secrets: String?

    @Option(help: ArgumentHelp("The first levels of the devices' topics (default: altnet).", valueName: "topic"))
    var prefix: String?

    /// - Throws: `ExitCode`, after printing what is wrong.
    func options() throws -> BridgeOptions {
        func value(_ option: String?, _ name: BridgeOptions.Name) -> String? {
            option ?? getenv("ALTNET_MQTT_" + name.rawValue).map { String(cString: $0) }
        }
        let folder = value(secrets, .secrets).map { $0.hasPrefix("/") || $0.isEmpty ? $0 : "\(Self.here)/\($0)" }
        var values: [BridgeOptions.Name: String] = [:]
        values[.broker] = value(broker, .broker)
        values[.user] = value(user, .user)
        values[.secrets] = folder
        values[.prefix] = value(prefix, .prefix)
        let options: BridgeOptions
        do throws(BridgeOptions.Faults) { options = try BridgeOptions(values) } catch {
            for fault in error.faults {
                let allowed = BridgeOptions.Name(rawValue: fault.name)?.form.allowed ?? ""
                complain("\(fault.name.lowercased()) is \"\(fault.value.printable)\"; allowed: \(allowed)")
            }
            throw ExitCode(EX_CONFIG)
        }
        guard options.broker != nil else {
            complain("no broker is named: --broker mqtts://HOST")
            throw ExitCode(EX_CONFIG)
        }
        return options
    }

    private static var here: String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }
}

struct ChangeArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The file with the change.", valueName: "file"), completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The file with the devices' keys, one a line.", valueName: "path"), completion: .file())
    var keys: String?

    @Option(help: ArgumentHelp("A command that prints these lines, run by /bin/sh.", valueName: "command"))
    var keysFrom: String?

    @Option(
        help: ArgumentHelp(
            "Where it is kept how far each device has come (default: beside the file, with .state after its name).",
            valueName: "path"), completion: .file())
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Go on for this long while devices are offline or their network has not taken the password, as in 30min.",
            valueName: "duration"), transform: FleetCommand.duration)
    var wait: Duration?

    @Option(help: ArgumentHelp("How many devices are asked at a time.", valueName: "number"))
    var atOnce = 64

    @Flag(help: "Print the outcome as JSON.")
    var json = false

    func validate() throws {
        guard (keys == nil) != (keysFrom == nil) else { throw ValidationError("Give the keys: --keys or --keys-from.") }
        guard (1...1000).contains(atOnce) else { throw ValidationError("--at-once is 1 to 1000.") }
    }

    fileprivate func carryOut(_ goal: Rollout.Goal, _ broker: BrokerArguments, dryRun: Bool) throws {
        let change = try FleetFile.change(file)
        let keys = try keys.map { try FleetFile.keys(file: $0) } ?? FleetFile.keys(command: keysFrom ?? "")
        let path = state ?? file + ".state"
        let record = try FleetFile.record(path, of: change)
        if let strangers = change.devices?.subtracting(keys.keys), !strangers.isEmpty {
            complain("there is no key of \(strangers.sorted().prefix(5).joined(separator: ", ").printable)")
            throw ExitCode(EX_DATAERR)
        }
        let session = try FleetSession(broker)
        let rollout = Rollout(
            change, goal, keys: keys, record: record, prefix: session.prefix, run: session.run, atOnce: atOnce,
            nonce: Nonce.random, time: { .now })
        if dryRun {
            let roster = try session.roster()
            let plan = rollout.plan(with: roster)
            if json { show(json: plan) } else { print(plan.table.render(.terminal(STDOUT_FILENO))) }
            return
        }
        let (outcome, offline) = try session.carryOut(rollout, keepingAt: path, for: wait ?? .zero)
        if json {
            show(json: outcome)
        } else {
            print(RolloutView.table(outcome).render(.terminal(STDOUT_FILENO)))
        }
        try RolloutView.exit(outcome, goal, offline: offline)
    }
}
