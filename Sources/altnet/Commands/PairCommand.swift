import Agent
import AgentModel
import AppProtocol
import ArgumentParser
import QRCode

struct PairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Give a device its id and its key, and show them as a QR code.",
        discussion: """
            Makes a new id and a new local key, by which an app and a device know each other, and shows them as a QR code \
            and as text:

              altnet pair --install                    on the device, before its agent first runs
              altnet pair --show                       on the device, which has them already
              altnet pair --show --output lamp.key     the same, for altnet --key-file lamp.key --device ...

            Where they are made before the device is at hand, they have to be installed there from the file:

              altnet pair --output lamp.key            anywhere; no device has them yet
              altnet pair --from lamp.key              the same code again
              altnet pair --from lamp.key --install    on the device

            WHOEVER HAS THE CODE HAS THE DEVICE. It holds the key in the open, for that is what it is for. So it is shown \
            on a terminal only, and goes elsewhere only with --output, where - is standard output.
            """)

    @OptionGroup var local: LocalOptions

    @Flag(help: "Show what this device has, and make nothing.")
    var show = false

    @Option(help: ArgumentHelp("Take id and key from a file that this command wrote.", valueName: "path"))
    var from: String?

    @Option(help: ArgumentHelp("Use this id instead of a random one, such as a serial number.", valueName: "id"))
    var id: String?

    @Flag(help: "Write id and key into the state directory of this device, which must have none.")
    var install = false

    @Option(
        help: ArgumentHelp(
            "The state directory for --install and --show (default: $ALTNET_STATE_DIR, or /var/lib/altnet).",
            valueName: "path"))
    var stateDir: String?

    @Option(help: ArgumentHelp("Write the code to this file, which nobody else can read.", valueName: "path"))
    var output: String?

    @Flag(help: "Replace the file if it is there.")
    var force = false

    @Flag(help: "Print JSON; the code is in it on a terminal, or with --output -.")
    var json = false

    func validate() throws {
        guard [show, from != nil, id != nil].count(where: \.self) <= 1 else {
            throw ValidationError("--show, --from and --id exclude each other.")
        }
        if show, install { throw ValidationError("--show makes nothing that --install could write.") }
        if stateDir != nil, !show, !install { throw ValidationError("--state-dir goes with --install or --show.") }
        if force, output == nil || output == "-" { throw ValidationError("--force goes with --output and a file.") }
    }

    func run() async throws {
        let console = Console.current
        do { try pair(console) } catch let failure as CommandFailure { try console.report(failure, json: json) }
    }

    private func pair(_ console: Console) throws {
        let isShown = console.style.goesToTerminal || output == "-"
        guard isShown || output != nil || install else {
            throw CommandFailure(
                .badData,
                "the code holds the device's key, and this is no terminal: give --output, where - is standard output")
        }
        let identity = try identity(console)
        let code = PairingCode(identity.key)
        if install { try self.install(identity) }
        let file = output == "-" ? nil : output
        if let file { try write(code, to: file) }
        if json {
            return console.print(
                json: PairingDocument(deviceId: identity.id, code: isShown ? code.uri() : nil, file: file))
        }
        if output == "-", !console.style.goesToTerminal {
            console.print(code.uri())
        } else {
            try present(code, isShown: isShown, console)
        }
        if !show, from == nil, !install { console.advise(Self.remainder(file)) }
    }

    private func identity(_ console: Console) throws -> DeviceIdentity {
        if show { return try directory { directory throws(IdentityError) in try DeviceIdentity.read(from: directory) } }
        if let from {
            let file = DeviceKeyFile(path: from)
            file.warn(console)
            return DeviceIdentity(key: try file.read(deviceId: nil))
        }
        do { return try DeviceIdentity.random(id: id) } catch { throw CommandFailure(.badData, error.message) }
    }

    private func install(_ identity: DeviceIdentity) throws {
        try directory { directory throws(IdentityError) in try identity.install(in: directory) }
    }

    /// Does something in the state directory.
    private func directory<Value>(_ body: (String) throws(IdentityError) -> Value) throws -> Value {
        let directory: String
        do {
            directory = try stateDir ?? AgentSettings(environment: AgentSettings.environmentOfProcess).stateDirectory
        } catch {
            throw ValidationError("\(error)")
        }
        do { return try body(directory) } catch { throw CommandFailure(error) }
    }

    private func write(_ code: PairingCode, to path: String) throws {
        var line = Array((code.uri() + "\n").utf8)
        defer { line.withUnsafeMutableBytes { wipe($0) } }
        do { try PrivateFile.write(line, to: path, replacing: force) } catch let failure as any KeyFileFailure {
            throw CommandFailure(failure)
        }
    }

    /// What is left to do with a code that is new.
    private static func remainder(_ file: String?) -> String {
        "No device has this code yet: one takes it from a file by 'altnet pair --from \(file?.printable ?? "FILE") "
            + "--install', run on the device."
    }

    private func present(_ code: PairingCode, isShown: Bool, _ console: Console) throws {
        let id = code.device.deviceId
        if isShown {
            let symbol: QRCode
            do { symbol = try QRCode(code.uri().utf8) } catch { throw CommandFailure(.defect, "\(error)") }
            if let picture = QRCodeView(code: symbol).render(console.style) {
                console.print(picture + "\n")
            } else {
                console.advise(
                    "The QR code is wider than this terminal: it takes more columns than \(console.style.width).")
            }
            let key = code.device.localKey.withBytes { String(decoding: $0, as: UTF8.self) }
            console.print("Device id  \(id)\nLocal key  \(key.printable)\nCode       \(code.uri())")
            console.advise("Whoever has this code has the device: show it to its owner only.")
        }
        if let output, output != "-" { console.print("\(output.printable) holds the code of \(id).") }
        if install { console.print("This device is \(id) now.") }
    }
}

private struct PairingDocument: Encodable {
    let deviceId: String
    /// Absent where it is not to be seen.
    let code: String?
    /// Where the code was written.
    let file: String?
}

extension CommandFailure {
    fileprivate init(_ error: IdentityError) {
        let status: ExitStatus =
            switch error.reason {
            case .missing, .invalid: .badData
            case .alreadyThere: .failed
            case .notPermitted: .notPermitted
            case .system: .deviceFailure
            }
        self.init(status, "\(error)")
    }
}
