import Agent
import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Glibc
import Import
import KeyFile

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import the Wi-Fi networks that this board already knows.",
        discussion: """
            Reads the networks of NetworkManager, netplan, wpa_supplicant, iwd, ifupdown, cloud-init and the Raspberry \
            Pi Imager, with passwords and static addresses, shows them, and asks before it stores them. Changes none \
            of these files and shows no password:

              altnet import --dry-run    show only
              altnet import              show, ask, store
              altnet import --yes        for scripts

            The network in use becomes the home network; if there is none, the one with the highest priority, then the \
            one last used. The others become backups, as many as the device stores. Networks that the device has \
            already stay unchanged. Networks that altnet cannot join are listed with the reason.

            Some programs, such as the Raspberry Pi Imager, store only a key derived from the password. On a terminal, \
            this command asks for the password and checks it against the key.

            Without a running agent, the device also gets a missing identity and root key, like with 'altnet \
            provision'. A running agent gets the networks over its socket, and switches to the new home network if it \
            had none.

            EXIT STATUS
              0   done, also if there was nothing to store
              1   the user did not agree, the folder of --root cannot be read, or the device could not join the new home
              65  the key file is damaged or has no root key
              66  only with --strict: a network, an address or a file was found and not imported
              69  the agent does not answer
              74  a disk or a flash chip failed
              77  only root can read the files of other programs
              78  the agent's settings are invalid
            """)

    @OptionGroup var options: KeyFileOptions

    @Flag(help: "Only show what would be stored.")
    var dryRun = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Flag(help: "Replace an existing home and stored networks of the same names.")
    var force = false

    @Option(
        help: ArgumentHelp("Read the files of a system mounted in this folder.", valueName: "folder"),
        completion: .directory)
    var root: String?

    @Flag(help: "Exit with status 66 if a network, an address or a file was found and not imported.")
    var strict = false

    @Option(
        help: ArgumentHelp("The state directory (default: the agent's).", valueName: "path"))
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            "The agent's user, who will own the state directory (default: its owner).", valueName: "user"))
    var owner: String?

    func validate() throws {
        if dryRun, yes { throw ValidationError("--dry-run and --yes exclude each other") }
        if options.json, !dryRun, !yes { throw ValidationError("--json cannot ask: give --dry-run or --yes") }
    }

    func run() async throws { try await Console.run(json: options.json) { try await run($0) } }

    private func run(_ console: Console) async throws {
        let done = try await perform(console)
        if options.json {
            console.print(json: ImportReport(done))
        } else {
            console.print(done.view.outcome(isStored: done.isStored, isDryRun: dryRun))
        }
        if strict, !done.plan.findings.isEmpty || done.plan.entries.contains(where: { $0.role == .noRoom }) {
            throw ExitCode(ExitStatus.incomplete.rawValue)
        }
    }

    /// Outcome of an import: the found networks, and whether any was stored.
    struct Done {
        let plan: ImportPlan
        let isRunning: Bool
        let isStored: Bool
        /// Whether the command could ask for passwords.
        let asks: Bool

        var view: ImportView { ImportView(plan: plan, isRunning: isRunning, asks: asks) }
    }

    /// Shows the networks unless the output is JSON, asks for consent and stores them.
    /// - Throws: `CommandFailure`, or an error of the key file or of a running agent.
    func perform(_ console: Console) async throws -> Done {
        guard root != nil || geteuid() == 0 else {
            throw CommandFailure(.notPermitted, "only root can read the files of other programs: run it with sudo")
        }
        let files = try sourceFiles()
        let settings = try options.settings(stateDirectory: stateDir)
        let store = try DeviceFiles(settings, options.place(settings), owner: owner)
        if !dryRun { _ = try store.finishReset() }
        let device = try store.inspect()
        let isRunning = try store.place.isInUse()
        var sources = Board(files).read()
        var keys = DerivedKeys(asks: !dryRun && !yes)
        let passphrases = sources.reduce(into: [:]) { $0.merge($1.passphrases) { $0 + $1 } }
        for index in sources.indices {
            sources[index].resolveKeys(others: passphrases) { keys.passphrase($0, $1, candidates: $2, console) }
            sources[index].resolveFiles { path in
                try? files.withContents(of: path) { bytes, _ in Secret(bytes) }
            }
        }
        let plan = ImportPlan(
            sources, device: ImportPlan.Device(device.state, maximum: settings.maximumBackups),
            connected: root == nil ? await Board.connected() : [:], replaces: force, homeTakesRoom: isRunning)
        let done = Done(plan: plan, isRunning: isRunning, isStored: !dryRun && !plan.changesNothing, asks: keys.asks)
        if !options.json { console.print(done.view.render(console.style)) }
        if done.isStored {
            if !yes { try askForConsent(console) }
            if isRunning {
                try await sendToAgent(plan, settings, console)
            } else {
                try self.store(plan, store, device)
            }
        }
        return done
    }

    private func sourceFiles() throws -> SourceFiles {
        do throws(SystemError) { return try SourceFiles(root: root) } catch {
            let reason =
                error.errno == ENOSYS
                ? "--root needs Linux 5.6 or later"
                : "\(error)"
            throw CommandFailure(.failed, reason)
        }
    }

    private func askForConsent(_ console: Console) throws {
        let answer: String
        do { answer = try console.askText("Store these networks? Type yes: ") } catch let failure as CommandFailure
            where failure.status == .badData
        {
            throw CommandFailure(.failed, "there is no terminal to ask on: give --yes or --dry-run")
        }
        guard answer == "yes" else { throw CommandFailure(.failed, "nothing was stored") }
    }

    // MARK: Without an agent

    private func store(_ plan: ImportPlan, _ files: DeviceFiles, _ device: Provisioning.Device) throws {
        let networks = ImportedNetworks(
            home: try plan.home.map { try StoredNetwork($0) }, backups: try plan.backups.map { try StoredNetwork($0) })
        let provisioning = Provisioning()
        _ = try files.provide(
            provisioning, try provisioning.plan(for: device), storing: { try networks.provide(in: $0) })
    }

    // MARK: With an agent

    private func sendToAgent(_ plan: ImportPlan, _ settings: AgentSettings, _ console: Console) async throws {
        let device = try await DeviceClient(
            connectingTo: .unixSocket(path: settings.socketPath), timeout: .seconds(30))
        do {
            let list = try await update(plan, device)
            if let home = plan.home { try await move(to: home, in: list, device, console) }
        } catch {
            await device.close()
            throw error
        }
        await device.close()
    }

    private func update(_ plan: ImportPlan, _ device: DeviceClient) async throws -> BackupList {
        let list = try await device.backups()
        let new = ([plan.home].compactMap(\.self) + plan.backups)
        let names = Set(new.map(\.ssid))
        let kept = list.networks.filter { !names.contains($0.ssid) }
        // If the list has no room for the home network, the later switch stores that network.
        let room = max(0, list.max - kept.count)
        let listed = new.count > room && plan.home != nil ? Array(new.dropFirst()) : new
        return try await device.updateBackups(
            kept.map { .stored($0.hash) } + listed.prefix(room).map { .new(NewNetwork($0)) }, ifRevision: list.revision)
    }

    private func move(
        to home: FoundNetwork, in list: BackupList, _ device: DeviceClient, _ console: Console
    ) async throws {
        let stored = list.networks.first { $0.ssid == home.ssid }
        do {
            let status = try await console.showingProgress { progress in
                try await device.switchNetwork(
                    to: stored.map { .stored($0.hash) } ?? .new(NewNetwork(home)), besideUplink: true,
                    within: .seconds(120)
                ) { status in
                    if !status.phase.isOutcome { progress.show(DisplayText.phase(status.phase)) }
                }
            }
            guard status.phase != .committed else { return }
            throw CommandFailure(.failed, sentence(home.ssid, status.text ?? DisplayText.phase(status.phase)))
        } catch ClientError.refused(let error) where error.code == .alreadyAssociated {
            return
        } catch ClientError.refused(let error) {
            throw CommandFailure(.failed, sentence(home.ssid, error.message))
        }
    }

    private func sentence(_ ssid: SSID, _ problem: String) -> String {
        "the networks are stored, but the device could not switch to \(ssid), try 'altnet switch' later: \(problem)"
    }
}

/// Finds the passwords of networks for which the board has stored only the derived key.
private struct DerivedKeys {
    let asks: Bool
    /// Passwords by SSID; nil for a password that the user does not know.
    private var known: [SSID: Secret?] = [:]

    private static let attempts = 3

    init(asks: Bool) { self.asks = asks }

    mutating func passphrase(
        _ network: FoundNetwork, _ key: Secret, candidates: [Secret], _ console: Console
    ) -> Secret? {
        if let found = candidates.first(where: { Self.opens($0, network.ssid, key) }) { return found }
        guard asks else { return nil }
        if let said = known[network.ssid], said.map({ Self.opens($0, network.ssid, key) }) ?? true { return said }
        let said = ask(network.ssid, key, console)
        known[network.ssid] = .some(said)
        return said
    }

    private func ask(_ ssid: SSID, _ key: Secret, _ console: Console) -> Secret? {
        console.advise(
            "For \(ssid), only a key derived from its password is stored. Without the password, it is skipped.")
        for _ in 0..<Self.attempts {
            guard let password = try? console.askPassword("Password for \(ssid), or none: "), password.count > 0 else {
                return nil
            }
            if Self.opens(password, ssid, key) { return password }
            console.advise("Wrong password: it does not match the stored key.")
        }
        return nil
    }

    private static func opens(_ password: Secret, _ ssid: SSID, _ key: Secret) -> Bool {
        let network = try? StoredNetwork(provisioned: NewNetwork(ssid: ssid, password: password))
        guard case .passphrase(_, let psk) = network?.credential else { return false }
        return psk == key
    }
}

extension ImportPlan.Device {
    /// - Parameter state: nil for a new device.
    init(_ state: StoredState?, maximum: Int) {
        self.init(
            home: (state?.chosen ?? state?.home)?.ssid, backups: state?.backups.map(\.ssid) ?? [], maximum: maximum)
    }
}

extension NewNetwork {
    init(_ network: FoundNetwork) {
        let credential: NetworkCredential =
            switch network.credential {
            case .passphrase(let password): .password(password)
            case .enterprise(let credential): .enterprise(credential)
            case .none, .derivedKey, .unresolved: .none
            }
        self.init(
            ssid: network.ssid, credential: credential,
            security: network.security ?? (credential == .none ? .open : nil), isHidden: network.isHidden,
            address: network.address)
    }
}

extension StoredNetwork {
    /// Converts a found network. Derives its key, which takes milliseconds.
    init(_ network: FoundNetwork) throws {
        do { try self.init(provisioned: NewNetwork(network)) } catch {
            throw CommandFailure(.badData, "\(network.ssid): \(error.message)")
        }
    }
}
