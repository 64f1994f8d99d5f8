import AgentModel
import AppProtocol
import ArgumentParser
import FleetOperator
import Glibc
import MQTTBridge
import Terminal

struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "List the devices of a fleet at their broker, and change their network's password.",
        discussion: """
            Runs on any machine that reaches the broker and needs no agent. 'altnet fleet' is the same command. The \
            options give the broker, the user name and the directory with password and certificates. The environment \
            variables of altnet-mqtt are the defaults.

            EXAMPLES
              altnet fleet --broker mqtts://broker.example.com
              altnet fleet list --risk any --last-seen 1h
              altnet fleet apply december.json --keys-from 'pass show fleet/keys' --dry-run
              altnet fleet apply december.json --keys-from 'pass show fleet/keys'
              altnet fleet undo december.json --keys-from 'pass show fleet/keys'

            EXIT STATUS
              0   done
              1   a device refused the change or went back to its old password
              64  the command line is wrong
              65  a file is invalid, or other users can read it
              69  the broker does not answer
              75  devices are offline or do not answer: repeat the command later
              78  the broker's address or the files with secrets are invalid

            ENVIRONMENT
              ALTNET_MQTT_BROKER, ALTNET_MQTT_USER, ALTNET_MQTT_SECRETS, ALTNET_MQTT_PREFIX  in place of the options
              NO_COLOR  if set and not empty, output has no colour
            """,
        subcommands: [List.self, Apply.self, Undo.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the devices and their risks.",
            discussion: """
                Shows the broker's retained messages. VERSION is altnet's version on the device. LAST SEEN is a time of \
                the device's clock, exact to 15 minutes. The risks are:

                  oneNetwork    no other stored network was seen within a day without a failure
                  weakSignal    Wi-Fi below -75 dBm
                  notConnected  its network does not reach the internet or server that it needs
                  radio         its radio has a fault
                  outages       three outages or more today
                """)

        @OptionGroup var broker: BrokerArguments

        @Option(
            help: ArgumentHelp(
                "Only devices last seen at least this long ago, such as 90s, 15min, 1h or 2d.",
                valueName: "duration"), transform: duration)
        var lastSeen: Duration?

        @Option(
            help: ArgumentHelp("Only devices with this risk, or with any.", valueName: "risk"),
            completion: .list(["any"] + DeviceEntry.Risk.allCases.map(\.rawValue)), transform: risks)
        var risk: Set<DeviceEntry.Risk>?

        @Option(help: ArgumentHelp("Only devices with this reason, such as wrongKey.", valueName: "reason"))
        var reason: String?

        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            let devices = try FleetSession(broker).roster()
            let filter = DeviceFilter(unseenFor: lastSeen, risks: risk, reason: reason)
            let now = Timestamp.now
            let chosen = devices.devices.values.filter { filter.matches($0, at: now) }.sorted { $0.id < $1.id }
            if json {
                show(json: chosen.map(DeviceView.init))
            } else {
                print(DeviceView.table(chosen, now: now).render(.terminal(STDOUT_FILENO)))
                print("\(chosen.count) of \(devices.devices.count) devices")
            }
            if devices.strange > 0 { complain("ignored invalid messages: \(devices.strange)") }
        }
    }

    struct Apply: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give the devices a new password for their network, beside the current one.",
            discussion: """
                The file is JSON and must be readable by its owner only (chmod 600):

                  {"changeId":"2026-12","ssid":"HomeNet","password":"correct horse 2","keepFor":604800}

                Each device keeps both passwords. It forgets the old one when its network accepts the new one, and \
                forgets the new one after keepFor seconds without success. With "confirmWithin":120 each device tries \
                the new password at once, keeps it if it reconnects within this time, and else goes back and forgets \
                it. "devices":["pump-1"] selects devices; the default is every device with a key.

                The password is encrypted for each device, so the broker cannot read it. The keys have one line per \
                device: a pairing code, or the device's id and key.

                The progress is stored beside the file: repeat the command to continue after an interruption or for \
                devices that were offline.
                """)

        @OptionGroup var broker: BrokerArguments
        @OptionGroup var change: ChangeArguments

        @Flag(help: "Only show what would be done.")
        var dryRun = false

        func run() throws { try change.perform(.apply, broker, dryRun: dryRun) }
    }

    struct Undo: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a new password from devices whose network has not accepted it.",
            discussion:
                "Use the same file and keys as for 'apply'. Devices that already use only the new password keep it.")

        @OptionGroup var broker: BrokerArguments
        @OptionGroup var change: ChangeArguments

        @Flag(help: "Only show what would be done.")
        var dryRun = false

        func run() throws { try change.perform(.undo, broker, dryRun: dryRun) }
    }

    @Sendable static func duration(_ text: String) throws -> Duration {
        let units: [String: Int64] = ["s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400]
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let unit = units[String(text.dropFirst(digits.count))],
            (1...(36_500 * 86_400 / unit)).contains(number)
        else { throw ValidationError("a duration is a number with s, min, h or d, such as 1h") }
        return .seconds(number * unit)
    }

    @Sendable static func risks(_ text: String) throws -> Set<DeviceEntry.Risk> {
        if text == "any" { return Set(DeviceEntry.Risk.allCases) }
        guard let risk = DeviceEntry.Risk(rawValue: text) else {
            let names = DeviceEntry.Risk.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("a risk is one of any, \(names)")
        }
        return [risk]
    }
}

struct BrokerArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The broker: mqtts://HOST[:PORT] or mqtt://HOST[:PORT].", valueName: "address"))
    var broker: String?

    @Option(help: ArgumentHelp("The user name at the broker; its password is in the file password.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The directory with ca.pem, certificate.pem, key.pem, password and psk, each optional.",
            valueName: "path"), completion: .directory)
    var secrets: String?

    @Option(help: ArgumentHelp("The topic prefix of the devices (default: altnet).", valueName: "topic"))
    var prefix: String?

    /// - Throws: `ExitCode`, after it has printed the errors.
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
                let value = fault.value.withoutCredentials.printable
                complain("\(fault.name.lowercased()) is \"\(value)\"; allowed: \(allowed)")
            }
            throw ExitCode(EX_CONFIG)
        }
        guard options.broker != nil else {
            complain("no broker is set: give --broker mqtts://HOST")
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

    @Option(
        help: ArgumentHelp("The file with the devices' keys, one per line.", valueName: "path"), completion: .file())
    var keys: String?

    @Option(help: ArgumentHelp("A command that prints the keys, run by /bin/sh.", valueName: "command"))
    var keysFrom: String?

    @Option(
        help: ArgumentHelp(
            "The file for the progress (default: the file of the change with .state appended).",
            valueName: "path"), completion: .file())
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Wait this long for offline devices and for their network to accept the password, such as 30min.",
            valueName: "duration"), transform: FleetCommand.duration)
    var wait: Duration?

    @Option(help: ArgumentHelp("The number of devices to change at the same time.", valueName: "number"))
    var atOnce = 64

    @Flag(help: "Print the outcome as JSON.")
    var json = false

    func validate() throws {
        guard (keys == nil) != (keysFrom == nil) else {
            throw ValidationError("give the keys with --keys or --keys-from")
        }
        guard (1...1000).contains(atOnce) else { throw ValidationError("--at-once must be 1 to 1000") }
    }

    fileprivate func perform(_ goal: Rollout.Goal, _ broker: BrokerArguments, dryRun: Bool) throws {
        let change = try FleetFile.change(file)
        let keys = try keys.map { try FleetFile.keys(file: $0) } ?? FleetFile.keys(command: keysFrom ?? "")
        let path = state ?? file + ".state"
        let record = try FleetFile.record(path, of: change)
        if let strangers = change.devices?.subtracting(keys.keys), !strangers.isEmpty {
            let some = strangers.sorted().prefix(5).joined(separator: ", ").printable
            complain("no key for these devices, add it to the keys: \(some)")
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
        let (outcome, offline) = try session.perform(rollout, keepingAt: path, for: wait ?? .zero)
        if json {
            show(json: outcome)
        } else {
            print(RolloutView.table(outcome).render(.terminal(STDOUT_FILENO)))
        }
        try RolloutView.exit(outcome, goal, offline: offline)
    }
}
