import Agent
import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import KeyFile

struct ProvisionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provision", abstract: "Give a new device its id, keys, name and first network.",
        discussion: """
            Creates a random device id, local key and root key where missing. You can repeat it at any time, also \
            after a power cut. To set values instead, give codes: the pairing code that 'altnet pair' writes, and the \
            code of a network (WIFI:T:WPA;S:name;P:password;;), one per line, in a file, on standard input, or typed \
            or scanned at a prompt. Codes are never arguments, because every process can read those:

              altnet provision                                  random id and keys, no network yet
              altnet provision --from lamp.key --output -       id and key of a label; shows the code again
              printf '%s\\n' "$PAIR" "$WIFI" | altnet provision --from -
              altnet provision --ask                            scan the codes
              altnet provision --network HomeNet                asks for the password
              altnet provision --name "Kitchen lamp"
              altnet provision --network Lab --address 10.1.2.3/16 --gateway 10.1.0.1
              altnet provision --boot /boot/firmware/altnet.conf

            With --boot, reads codes from a file if it exists, and wipes the file when they are stored; stored \
            networks stay as backups. If the file cannot be used, it stays, with the reason in \(BootFile.reasonName) \
            beside it, and the device gets everything else. altnet-provision.service does this at every start, on the \
            boot partition.

            Does not ask for the server of the internet check, because a scanner may be typing: give --internet-check. \
            Without it, a line says so until the settings file has an answer.

            A running agent gets only the name and the network. The network becomes the home network, and Wi-Fi \
            switches to it, also beside a cable. Stop the agent to change anything else. As root, this command gives \
            the state directory to its owner, or to the user of --owner. A root key elsewhere, as in \
            \(AgentSettings.packagedRootKey), belongs to root, and systemd passes it to the agent.

            EXIT STATUS
              0   done; the device has the values asked for
              1   the device has another id, key or network and --force is missing, or it could not join the network
              65  a code, an id or a password is invalid, or the key file has no root key
              74  a disk or a flash chip failed
              75  the agent is running, and an id or a key is missing
              77  no permission
              78  the agent's settings are invalid
            """)

    @OptionGroup var options: KeyFileOptions

    @Option(help: ArgumentHelp("Read codes from this file, one per line; - is standard input.", valueName: "path"))
    var from: String?

    @Flag(help: "Ask for codes at the terminal, without showing them; a scanner can type them.")
    var ask = false

    @Option(
        help: ArgumentHelp(
            "Read codes from this file if it exists, then wipe it. If repeated, the first existing file is used.",
            valueName: "path"))
    var boot: [String] = []

    @Option(help: ArgumentHelp("Use this id instead of a random one, such as a serial number.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The device's name, as on its label; it replaces another one.", valueName: "name"))
    var name: DeviceName?

    @Option(
        help: ArgumentHelp("The SSID of the first network, which becomes the home network.", valueName: "ssid"),
        transform: SSIDArgument.init)
    var network: SSIDArgument?

    @OptionGroup var newNetwork: NewNetworkOptions

    @Option(
        help: ArgumentHelp(
            "The server of the internet check: a URL such as http://HOST/PATH, debian or none.",
            valueName: "server"))
    var internetCheck: InternetCheck?

    @Option(
        help: ArgumentHelp("The state directory (default: the agent's).", valueName: "path"))
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            "The agent's user, who will own the state directory (default: its owner).", valueName: "user"))
    var owner: String?

    @Option(
        help: ArgumentHelp(
            "Write the pairing code to this file, readable by its owner only; - shows it.", valueName: "path"))
    var output: String?

    @Flag(help: "Replace an existing identity, home network and file, but never the root key.")
    var force = false

    @Flag(help: "Only show the steps.")
    var dryRun = false

    @Flag(help: "Print only errors.")
    var quiet = false

    func validate() throws {
        if from != nil, ask { throw ValidationError("--from and --ask exclude each other") }
        if !boot.isEmpty, from != nil || ask { throw ValidationError("--boot excludes --from and --ask") }
        if from == "-", newNetwork.passwordStdin {
            throw ValidationError("--from - and --password-stdin exclude each other: both read standard input")
        }
        if newNetwork.isGiven, network == nil {
            throw ValidationError("--open, --hidden, --password-stdin, --eap, --address and options need --network")
        }
        if quiet, options.json { throw ValidationError("--quiet and --json exclude each other") }
    }

    func run() async throws {
        try await Console.run(json: options.json) { console in
            try await run(console)
            if let internetCheck {
                if !dryRun { try internetCheck.store(in: options.settingsPath) }
            } else if !quiet, !options.json, !InternetCheck.isChosen(in: options.settingsPath) {
                // Do not ask: a scanner at the terminal would type its next code as the answer.
                console.print("Check     none: choose a server with --internet-check (a URL, debian or none)")
            }
        }
    }

    private func run(_ console: Console) async throws {
        let settings = try options.settings(stateDirectory: stateDir)
        let files = try DeviceFiles(settings, options.place(settings), owner: owner)
        guard let file = try BootFile.first(of: boot) else {
            return try await run(console, files, settings, codes(console))
        }
        do {
            try await run(console, files, settings, file.codes(), from: file)
        } catch {
            guard let failure = CommandFailure(of: error) else { throw error }
            // Leave a reason only if the file caused the failure, and not the disk or a running agent.
            if !dryRun, ![.deviceFailure, .tryLater].contains(failure.status) { file.leave(because: failure.message) }
            // Provide everything else in any case. Ignore errors here, to report the first failure.
            try? await run(console, files, settings, nil)
            throw CommandFailure(failure.status, "\(file.path.printable) was not used: \(failure.message)")
        }
        guard !dryRun else { return }
        do { try file.wipe() } catch {
            throw CommandFailure(
                .deviceFailure,
                "stored, but \(file.path.printable) cannot be wiped: remove the file, because it contains the "
                    + "password: \(error)")
        }
    }

    /// - Parameter file: file on the boot partition with the codes; nil if the codes are from elsewhere.
    private func run(
        _ console: Console, _ files: DeviceFiles, _ settings: AgentSettings, _ codes: ProvisioningCodes?,
        from file: BootFile? = nil
    ) async throws {
        var provisioning = try provisioning(codes, console)
        // A file that cannot be wiped would set its network as home at every start.
        provisioning.keepsFormer = file?.isWritable ?? false
        if !dryRun, let outcome = try files.finishReset(), !quiet, !options.json {
            console.print(
                "An interrupted factory reset was finished\(outcome.left.isEmpty ? "" : ", as far as possible").")
        }
        let device = try files.inspect()
        let plan = try provisioning.plan(for: device)
        let isRunning = try !plan.changesNothing && files.place.isInUse()
        let identity: DeviceIdentity?
        if !dryRun, isRunning {
            identity = try await showPlan(provisioning, plan, device, settings, console)
        } else {
            identity = dryRun ? nil : try provide(provisioning, plan, files)
        }
        if !dryRun, let identity, let output, output != "-" {
            try PairingCode(identity.key).write(to: output, replacing: force)
        }
        let report = ProvisionReport(
            plan, id: identity?.id ?? provisioning.id ?? device.identity?.id, name: provisioning.name,
            network: provisioning.network?.ssid,
            rootKey: try files.place.rootKey.readOnlySource().source,
            code: output == "-" && !dryRun ? identity.map { PairingCode($0.key) } : nil,
            file: output == "-" ? nil : output, isDryRun: dryRun)
        if options.json { return console.print(json: report.document) }
        if !quiet { console.print(report.text) }
        try report.code?.present(console)
    }

    /// - Returns: the device's identity.
    private func provide(
        _ provisioning: Provisioning, _ plan: Provisioning.Plan, _ files: DeviceFiles
    ) throws -> DeviceIdentity {
        try files.provide(
            provisioning, plan, storing: plan.storesNothing ? nil : { try provisioning.provideState(plan, in: $0) })
    }

    private func codes(_ console: Console) throws -> ProvisioningCodes? {
        if ask { return try ProvisioningCodes(asking: console) }
        guard let from else { return nil }
        var text =
            from == "-"
            ? try console.input(ProvisioningCodes.maximumLength + 1)
            : try PrivateFile.read(from, maximum: ProvisioningCodes.maximumLength)
        defer { text.withUnsafeMutableBytes { wipe($0) } }
        return try ProvisioningCodes(reading: text, from: from == "-" ? "standard input" : from.printable)
    }

    /// Gives the name and the network to a running agent, which has the key file open.
    private func showPlan(
        _ provisioning: Provisioning, _ plan: Provisioning.Plan, _ device: Provisioning.Device,
        _ settings: AgentSettings, _ console: Console
    ) async throws -> DeviceIdentity? {
        guard plan.rootKey == .kept, plan.identity == .kept else {
            throw CommandFailure(
                .tryLater, "nothing was changed: the agent is running, stop it first ('systemctl stop altnet')")
        }
        let agent: DeviceClient
        do {
            agent = try await DeviceClient(
                connectingTo: .unixSocket(path: settings.socketPath), timeout: .seconds(30))
        } catch {
            throw CommandFailure(
                .tryLater,
                """
                nothing was changed: the agent uses the key file and does not answer, stop it ('systemctl stop \
                altnet'): \(error)
                """)
        }
        do {
            let network = plan.network == .kept ? nil : provisioning.network
            if network != nil { try await agent.requireHome() }
            if let name = provisioning.name { _ = try await agent.setName(name) }
            if let network {
                let home = NetworkReference.new(NewNetwork(network))
                _ = try await agent.changeHome(.replace(home))
                try await move(to: home, network.ssid, agent, console)
            }
        } catch {
            await agent.close()
            throw error
        }
        await agent.close()
        return device.identity
    }

    private func move(
        to home: NetworkReference, _ ssid: SSID, _ agent: DeviceClient, _ console: Console
    ) async throws {
        func failure(_ problem: String) -> CommandFailure {
            CommandFailure(
                .failed, "\(ssid) is stored as home network, but the device could not switch to it: \(problem)")
        }
        do {
            let status = try await console.showingProgress { progress in
                try await agent.switchNetwork(to: home, besideUplink: true, within: .seconds(120)) { status in
                    if !status.phase.isOutcome { progress.show(DisplayText.phase(status.phase)) }
                }
            }
            guard status.phase == .committed else { throw failure(status.text ?? DisplayText.phase(status.phase)) }
        } catch ClientError.refused(let error) where error.code == .alreadyAssociated {
            return
        } catch ClientError.refused(let error) {
            throw failure(error.message)
        } catch ClientError.timedOut {
            throw failure("no outcome after 120 s")
        }
    }

    private func provisioning(_ codes: ProvisioningCodes?, _ console: Console) throws -> Provisioning {
        if codes?.device != nil, id != nil {
            throw CommandFailure(.badData, "the pairing code contains the id: omit --id")
        }
        if codes?.network != nil, network != nil {
            throw CommandFailure(.badData, "a code contains the network: omit --network")
        }
        var provisioning = Provisioning(replaces: force)
        provisioning.name = name
        if let device = codes?.device { provisioning.identity = .given(DeviceIdentity(key: device)) }
        do {
            if let id {
                _ = try DeviceIdentity.random(id: id)
                provisioning.identity = .named(id)
            }
            let first = try codes?.network ?? network.map { try newNetwork.network($0.ssid, console) }
            provisioning.network = try first.map { try StoredNetwork(provisioned: $0) }
        } catch let error as ProtocolError {
            throw CommandFailure(.badData, error.message)
        }
        return provisioning
    }
}

extension NewNetwork {
    fileprivate init(_ network: StoredNetwork) {
        let credential: NetworkCredential =
            switch network.credential {
            case .none: .none
            case .passphrase(let password, _): .password(password)
            case .enterprise(let credential): .enterprise(credential)
            }
        self.init(
            ssid: network.ssid, credential: credential,
            security: network.security ?? (credential == .none ? .open : nil), isHidden: network.isHidden,
            address: network.staticAddress, options: network.options)
    }
}

extension Provisioning {
    fileprivate var id: String? {
        switch identity {
        case .any: nil
        case .named(let id): id
        case .given(let identity): identity.id
        }
    }
}

struct ProvisionReport {
    let document: Document
    /// Pairing code; nil if it must not be shown.
    let code: PairingCode?

    struct Document: Encodable {
        /// Device ID; missing if the identity is not made yet.
        let deviceId: String?
        let identity: Provisioning.Step
        let rootKey: Provisioning.Step
        let rootKeyFile: String
        /// Step of the network; missing if no network was given.
        let network: Provisioning.Step?
        /// Step of the name; missing if no name was given.
        let name: Provisioning.Step?
        let deviceName: DeviceName?
        let ssid: String?
        let ssidHex: String?
        let code: String?
        let file: String?
        let dryRun: Bool
    }

    private let network: SSID?

    init(
        _ plan: Provisioning.Plan, id: String?, name deviceName: DeviceName?, network: SSID?, rootKey: String,
        code: PairingCode?, file: String?, isDryRun: Bool
    ) {
        self.code = code
        self.network = network
        let name = network.map { SSID.JSONMembers($0) }
        document = Document(
            deviceId: id, identity: plan.identity, rootKey: plan.rootKey, rootKeyFile: rootKey, network: plan.network,
            name: plan.name, deviceName: deviceName, ssid: name?.ssid, ssidHex: name?.ssidHex,
            code: code?.uri(), file: file, dryRun: isDryRun)
    }

    var text: String {
        var lines = [
            "Identity  \(document.deviceId ?? "random"), \(word(document.identity))",
            "Root key  \(document.rootKeyFile.printable), \(word(document.rootKey))",
        ]
        if let name = document.deviceName, let step = document.name { lines.append("Name      \(name), \(word(step))") }
        if let network, let step = document.network { lines.append("Network   \(network), \(word(step))") }
        if let file = document.file { lines.append("Code      \(file.printable)") }
        if document.dryRun { lines.append("Nothing was changed; these are the steps.") }
        return lines.joined(separator: "\n")
    }

    private func word(_ step: Provisioning.Step) -> String {
        switch (step, document.dryRun) {
        case (.kept, _): "unchanged"
        case (_, true): "would be \(step.rawValue)"
        case (_, false): step.rawValue
        }
    }
}

/// Codes for a device, one per line: the pairing code on its label, the code of its first network, or both. Empty lines
/// and lines that begin with `#` are ignored.
struct ProvisioningCodes {
    private(set) var device: DeviceKey?
    private(set) var network: NewNetwork?

    static let maximumLength = 4096

    var isComplete: Bool { device != nil && network != nil }

    /// - Parameter source: name of the text in messages.
    init(reading text: some Collection<UInt8>, from source: String) throws {
        guard text.count <= Self.maximumLength else {
            throw CommandFailure(.badData, "\(source) is too long: give a pairing code, a network's code, or both")
        }
        // Some editors begin a file with a byte order mark.
        guard !text.starts(with: [0xff, 0xfe]), !text.starts(with: [0xfe, 0xff]) else {
            throw CommandFailure(.badData, "\(source) is UTF-16: save it as UTF-8")
        }
        let text = text.dropFirst(text.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0)
        for (number, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            try add(line, from: "\(source), line \(number + 1)")
        }
        guard device != nil || network != nil else {
            throw CommandFailure(.badData, "\(source) has no code: a code begins with altnet://pair? or WIFI:")
        }
    }

    /// Asks for codes at the terminal, where a scanner may type them.
    init(asking console: Console) throws {
        while !isComplete {
            let line = try console.askPassword(
                device == nil && network == nil ? "Code of the device or the network: " : "Another code, or none: ")
            guard line.count > 0 else { break }
            try line.withBytes { try add($0, from: "this line") }
        }
    }

    private mutating func add(_ line: some Collection<UInt8>, from source: String) throws {
        let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
        var code = Array(line.drop(while: blanks.contains))
        defer { code.withUnsafeMutableBytes { wipe($0) } }
        while let last = code.last, blanks.contains(last) { code.removeLast() }
        guard let first = code.first, first != UInt8(ascii: "#") else { return }
        do {
            if Self.begins(code, with: PairingCode.scheme) {
                guard device == nil else { throw CommandFailure(.badData, "\(source): give only one pairing code") }
                device = try PairingCode(reading: code).device
            } else if Self.begins(code, with: NetworkCode.scheme) {
                guard network == nil else { throw CommandFailure(.badData, "\(source): give only one network's code") }
                network = try NetworkCode(reading: code).network
            } else {
                throw CommandFailure(.badData, "\(source) is not a code: a code begins with altnet://pair? or WIFI:")
            }
        } catch let error as PairingCodeError {
            throw CommandFailure(.badData, "\(source): \(error)")
        } catch let error as NetworkCodeError {
            throw CommandFailure(.badData, "\(source): \(error)")
        }
    }

    private static func begins(_ code: [UInt8], with scheme: String) -> Bool {
        String(decoding: code.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme.lowercased()
    }
}

extension CommandFailure {
    /// - Returns: nil if the error is a defect.
    init?(of error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case let error as any KeyFileFailure: self.init(error)
        case let error as ClientError: self.init(error)
        default: return nil
        }
    }
}
