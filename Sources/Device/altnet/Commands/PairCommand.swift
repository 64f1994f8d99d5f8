import Agent
import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Glibc

struct PairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Show a device's pairing code, or make a new one.",
        discussion: """
            A pairing code contains the device's id, a key, and the device's certificate. Show the code of the device \
            that 'altnet provision' has set up:

              altnet pair --show                       the code as a QR code and as text
              altnet pair --show --output lamp.key     a key file, for altnet --key-file lamp.key --device ...

            With ALTNET_PAIRING_CODE=invitation, the code is valid for one app and for ALTNET_PAIRING_CODE_S seconds, \
            and the agent must run. 'altnet keys' lists the apps that used one.

            On any other machine, make a new id and key, for example to print labels before the boards arrive. Then \
            provision the board with the file:

              altnet pair --output lamp.key            a new code
              altnet pair --from lamp.key              the same code again
              altnet provision --from lamp.key         on the device

            With --easy-connect it shows the code for Wi-Fi Easy Connect instead, derived from the same key. A phone \
            that reads this code can give the device a network (ALTNET_DPP), and nothing else.

            THE CODE GIVES FULL ACCESS TO THE DEVICE: it contains the key unencrypted. It is shown on a terminal only; \
            use --output to write it elsewhere (- is standard output). The QR code needs the package libqrencode4; \
            without it, only the text is shown.
            """)

    @OptionGroup var local: LocalOptions

    @Flag(help: "Show this device's code.")
    var show = false

    @Option(help: ArgumentHelp("Read id and key from a file that this command wrote.", valueName: "path"))
    var from: String?

    @Option(help: ArgumentHelp("Use this id instead of a random one, such as a serial number.", valueName: "id"))
    var id: String?

    @Flag(help: "Show the Wi-Fi Easy Connect code.")
    var easyConnect = false

    @Option(
        help: ArgumentHelp(
            "The state directory for --show (default: the agent's).", valueName: "path"))
    var stateDir: String?

    @Option(help: ArgumentHelp("Write the code to this file, readable by its owner only.", valueName: "path"))
    var output: String?

    @Flag(help: "Replace the file if it exists.")
    var force = false

    @Flag(help: "Print JSON, with the code on a terminal or with --output -.")
    var json = false

    func validate() throws {
        guard [show, from != nil, id != nil].count(where: \.self) <= 1 else {
            throw ValidationError("--show, --from and --id exclude each other")
        }
        if stateDir != nil, !show { throw ValidationError("--state-dir needs --show") }
        if easyConnect, output != nil && output != "-" || !show && from == nil {
            throw ValidationError("--easy-connect needs --show or --from, and allows only --output -")
        }
        if force, output == nil || output == "-" { throw ValidationError("--force needs --output with a file") }
    }

    func run() async throws { try await Console.run(json: json) { try await pair($0) } }

    private func pair(_ console: Console) async throws {
        if easyConnect { return try presentEasyConnect(console) }
        let isShown = console.style.goesToTerminal || output == "-"
        try console.requirePlace(forCode: output)
        if let handout = try await invitation() {
            return try console.present(handout, to: output, replacing: force, json: json)
        }
        let identity = try identity(console)
        let code = PairingCode(identity.key)
        let file = output == "-" ? nil : output
        if let file { try code.write(to: file, replacing: force) }
        if json {
            return console.print(
                json: PairingDocument(
                    deviceId: identity.id, code: isShown ? code.uri() : nil, file: file,
                    accessPoint: isShown ? SetupAccessPointCredentials(of: identity.key)?.code() : nil))
        }
        if isShown { try code.present(console) }
        if let file { console.print("The code of \(identity.id) is in \(file.printable).") }
        if !show, from == nil { console.advise(Self.remainder(file)) }
    }

    /// Shows the Easy Connect code. The code contains only a public key and is not secret.
    private func presentEasyConnect(_ console: Console) throws {
        let identity = try identity(console)
        let code = EasyConnectCode(of: identity.key).uri
        if json { return console.print(json: EasyConnectDocument(deviceId: identity.id, easyConnect: code)) }
        console.draw(code)
        console.print(code)
    }

    /// Returns an invitation if the settings require one in place of the owner's key; otherwise nil.
    private func invitation() async throws -> KeyHandout? {
        guard show, stateDir == nil else { return nil }
        let settings = try AgentSettings.ofThisMachine()
        guard settings.pairingCode == .invitation else { return nil }
        let device = try await DeviceClient(connectingTo: .unixSocket(path: settings.socketPath))
        let seconds = Int(settings.pairingCodeLife.components.seconds)
        return try await device.addKey(KeyRequest(name: nil, role: .manage, claimWithin: seconds))
    }

    private func identity(_ console: Console) throws -> DeviceIdentity {
        if show { return try DeviceIdentity.read(from: stateDir ?? AgentSettings.ofThisMachine().stateDirectory) }
        if let from {
            let file = DeviceKeyFile(path: from)
            file.warn(console)
            return DeviceIdentity(key: try file.read(deviceId: nil))
        }
        do { return try DeviceIdentity.random(id: id) } catch { throw CommandFailure(.badData, error.message) }
    }

    private static func remainder(_ file: String?) -> String {
        "No device has this code yet. Run this on the device: 'altnet provision --from "
            + "\(file?.printable ?? "FILE")'"
    }
}

private struct EasyConnectDocument: Encodable {
    let deviceId: String
    let easyConnect: String
}

private struct PairingDocument: Encodable {
    let deviceId: String
    /// Pairing code; missing if it must not be shown.
    let code: String?
    let file: String?
    /// Code of the setup access point; missing if it must not be shown.
    let accessPoint: String?
}

extension PairingCode {
    /// Writes the code to a file with mode 0600. A file that has this code stays unchanged.
    /// - Parameter replacing: whether to replace a file with other content.
    func write(to path: String, replacing: Bool) throws {
        var line = Array((uri() + "\n").utf8)
        defer { line.withUnsafeMutableBytes { wipe($0) } }
        var status = stat()
        // Skip pipes: reading one would wait for a writer.
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let there = try? PrivateFile.read(path, maximum: line.count), there == line
        {
            return
        }
        do { try PrivateFile.write(line, to: path, replacing: replacing) } catch let failure as any KeyFileFailure {
            throw CommandFailure(failure)
        }
    }

    /// Shows the code as a picture and text on a terminal, else as one line.
    func present(_ console: Console) throws {
        guard console.style.goesToTerminal else { return console.print(uri()) }
        console.draw(uri())
        let key = device.localKey.withBytes { String(decoding: $0, as: UTF8.self) }
        let lines = [
            "Device id    \(device.deviceId)",
            device.isOwners
                ? "Local key    \(key.printable)" : "Key          \(key.printable), \(device.name.text.printable)",
            device.certificate.map { "Certificate  \($0)" }, "Code         \(uri())",
            SetupAccessPointCredentials(of: device).map { "Setup AP     \($0.code())" },
        ]
        console.print(lines.compactMap(\.self).joined(separator: "\n"))
        if device.isOwners { console.advise("This code gives full access to the device: show it to its owner only.") }
    }
}
