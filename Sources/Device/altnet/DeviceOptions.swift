import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Glibc
import KeyFile
import MQTTBridge

/// Options that select an agent, on this machine or on a device in the network or at a broker. Valid before and after
/// the subcommand.
struct DeviceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A device in the network (default: $\(Variable.device.rawValue), or the agent on this machine). The default \
            port is \(ProtocolLimits.port); put an IPv6 address in brackets.
            """, valueName: "host[:port]"),
        transform: DeviceAddress.init)
    var device: DeviceAddress?

    @Option(
        help: ArgumentHelp(
            """
            The device's MQTT broker, mqtts://HOST[:PORT][/PREFIX] (default: $\(Variable.broker.rawValue)). It carries \
            the encrypted connection if the device does not answer in the network. Needs altnet-mqtt.
            """, valueName: "address"),
        transform: Self.broker)
    var broker: String?

    @Option(
        help: ArgumentHelp(
            "The user name at the broker (default: $\(Variable.brokerUser.rawValue)).", valueName: "name"))
    var brokerUser: String?

    @Option(
        help: ArgumentHelp(
            """
            The directory with the broker's ca.pem, certificate.pem, key.pem, password and psk, each optional \
            (default: $\(Variable.brokerSecrets.rawValue), or /etc/altnet/mqtt).
            """, valueName: "folder"), completion: .directory)
    var brokerSecrets: String?

    @Option(
        help: ArgumentHelp(
            "The device's id (default: $\(Variable.deviceId.rawValue), or the id in the key file).", valueName: "id"))
    var deviceId: String?

    @Option(
        help: ArgumentHelp(
            "The device's key file, written by 'altnet pair' (default: $\(Variable.keyFile.rawValue)).",
            valueName: "path"))
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "The agent's socket on this machine (default: $\(Variable.socket.rawValue), or \(Self.standardSocket)).",
            valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("How long to wait for an answer (default: 10).", valueName: "seconds"))
    var answerWithin: Int?

    /// Environment variables that replace missing options.
    enum Variable: String, CaseIterable {
        case device = "ALTNET_DEVICE"
        case deviceId = "ALTNET_DEVICE_ID"
        case keyFile = "ALTNET_DEVICE_KEY_FILE"
        case broker = "ALTNET_DEVICE_BROKER"
        case brokerUser = "ALTNET_DEVICE_BROKER_USER"
        case brokerSecrets = "ALTNET_DEVICE_BROKER_SECRETS"
        case socket = "ALTNET_SOCKET"

        /// Variables of the command line, which the agent does not read.
        static let ofTheCommandLine = Set(allCases.map(\.rawValue)).subtracting([socket.rawValue])
    }

    static let standardSocket = "/run/altnet/altnet.sock"

    var isGiven: Bool {
        device != nil || deviceId != nil || keyFile != nil || socket != nil || answerWithin != nil || broker != nil
            || brokerUser != nil || brokerSecrets != nil
    }

    func validate() throws {
        guard answerWithin.map((1...3600).contains) ?? true else {
            throw ValidationError("--answer-within must be 1 to 3600 seconds")
        }
        if device != nil, socket != nil {
            throw ValidationError("give either --device or --socket, not both")
        }
        if broker != nil, socket != nil {
            throw ValidationError("give either --broker or --socket, not both")
        }
    }

    /// Returns the agent's endpoint. Options override variables, and the device's variables override that of the
    /// socket.
    /// - Throws: `ValidationError` or `CommandFailure`.
    func endpoint(_ console: Console) throws -> Endpoint {
        let (address, route) = (try address(console), try route(console))
        guard address != nil || route != nil else {
            guard deviceId == nil, keyFile == nil, brokerUser == nil, brokerSecrets == nil else {
                throw ValidationError(
                    deviceId == nil && keyFile == nil
                        ? "--broker-user and --broker-secrets need --broker"
                        : "--device-id and --key-file need --device or --broker")
            }
            return .unixSocket(path: socket ?? console.variable(.socket) ?? Self.standardSocket)
        }
        guard let file = file(console) else {
            throw ValidationError(
                "\(address == nil ? "--broker" : "--device") needs the device's key: give its file with --key-file")
        }
        let key = try file.read(deviceId: deviceId ?? console.variable(.deviceId))
        let network = address.map { Endpoint.network(host: $0.host, port: $0.port, device: key) }
        guard let route else { return network ?? .unixSocket(path: Self.standardSocket) }
        let broker = Endpoint.broker(route, device: key)
        return network.map { .first($0, otherwise: broker) } ?? broker
    }

    /// Whether the options select a device in the network or at a broker.
    func isRemote(_ console: Console) throws -> Bool { try address(console) != nil || route(console) != nil }

    /// Warns if other users can read the device's key file.
    func warn(_ console: Console) throws {
        if try isRemote(console) { file(console)?.warn(console) }
    }

    /// Checks the address of a broker, with the prefix of its topics.
    @Sendable private static func broker(_ text: String) throws -> String {
        let route = BrokerRoute(text)
        guard BrokerAddress(route.broker) != nil, Topics.isPrefix(route.prefix) else {
            throw ValidationError("a broker is mqtts://HOST[:PORT][/PREFIX], or mqtt:// without TLS")
        }
        return text
    }

    /// - Returns: the way through the device's broker; nil without a broker.
    /// - Throws: `ValidationError` for a malformed variable.
    private func route(_ console: Console) throws -> BrokerRoute? {
        guard socket == nil else { return nil }
        guard let url = try broker ?? console.variable(.broker).map(Self.broker) else { return nil }
        return BrokerRoute(
            url, user: brokerUser ?? console.variable(.brokerUser),
            secrets: brokerSecrets ?? console.variable(.brokerSecrets))
    }

    private func file(_ console: Console) -> DeviceKeyFile? {
        (keyFile ?? console.variable(.keyFile)).map(DeviceKeyFile.init)
    }

    /// - Returns: the device's address; nil for the agent on this machine.
    /// - Throws: `ValidationError` for a malformed variable.
    func address(_ console: Console) throws -> DeviceAddress? {
        if device != nil || socket != nil { return device }
        guard let text = console.variable(.device) else { return nil }
        do { return try DeviceAddress(text) } catch {
            throw ValidationError("\(Variable.device.rawValue) is \"\(text.printable)\": \(error)")
        }
    }
}

extension Console {
    /// Returns the variable's value; nil if it is empty or missing.
    fileprivate func variable(_ variable: DeviceOptions.Variable) -> String? {
        environment(variable.rawValue).flatMap { $0.isEmpty ? nil : $0 }
    }
}

struct ConnectionOptions: ParsableArguments {
    @OptionGroup var device: DeviceOptions

    @Flag(help: "Print JSON, in the terms of the app protocol.")
    var json = false

    /// Time limit for an answer, in seconds.
    var answerWithin: Int { device.answerWithin ?? 10 }

    func endpoint(_ console: Console) throws -> Endpoint { try device.endpoint(console) }
}

/// Options of commands that work on this machine's files. Rejects options that select an agent.
struct LocalOptions: ParsableArguments {
    @OptionGroup(visibility: .private) var device: DeviceOptions

    func validate() throws {
        if device.isGiven {
            throw ValidationError(
                """
                this command uses no agent: leave out --device, --device-id, --key-file, --broker, --broker-user, \
                --broker-secrets, --socket and --answer-within
                """
            )
        }
    }
}

/// A file with a device's key. Its line is either the pairing code from `altnet pair`, or the local key alone, as in
/// the device's file `local-key`.
struct DeviceKeyFile {
    let path: String

    /// - Parameter deviceId: ID of the device; nil to take it from the file.
    /// - Throws: `CommandFailure`, which contains no part of the file.
    func read(deviceId: String?) throws -> DeviceKey {
        var content: [UInt8]
        do { content = try PrivateFile.read(path, maximum: PairingCode.maximumLength + 2) } catch {
            guard case .system(_, _, ENOENT) = error else { throw CommandFailure(error) }
            throw CommandFailure(.badData, "there is no key file at \(path.printable)")
        }
        defer { content.withUnsafeMutableBytes { wipe($0) } }
        let line = content.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return line.starts(with: PairingCode.scheme.utf8)
            ? try pairedDevice(line, deviceId) : try device(Secret(line), deviceId)
    }

    private func pairedDevice(_ code: some Collection<UInt8>, _ deviceId: String?) throws -> DeviceKey {
        let device: DeviceKey
        do { device = try PairingCode(reading: code).device } catch {
            throw CommandFailure(.badData, "\(path.printable): \(error)")
        }
        if let deviceId, deviceId != device.deviceId {
            throw CommandFailure(
                .badData, "\(path.printable) has the key of \(device.deviceId), not of \(deviceId.printable)")
        }
        return device
    }

    private func device(_ key: Secret, _ deviceId: String?) throws -> DeviceKey {
        guard let deviceId else {
            throw CommandFailure(
                .badData, "\(path.printable) does not contain the device's id: give it with --device-id")
        }
        do { return try DeviceKey(deviceId: deviceId, localKey: key) } catch {
            throw CommandFailure(.badData, "\(path.printable), id \(deviceId.printable): \(error.message)")
        }
    }

    /// Warns if other users can read the key.
    func warn(_ console: Console) {
        guard isExposed else { return }
        console.advise("warning: other users can read the device's key: chmod 600 \(path.printable)")
    }

    /// Whether other users can read the file. A pipe has no mode to check.
    private var isExposed: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o044 != 0
    }
}
