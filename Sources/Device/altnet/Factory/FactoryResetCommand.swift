import Agent
import AgentModel
import ArgumentParser
import KeyFile

struct FactoryResetCommand: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "factory-reset", abstract: "Wipe this device's networks, keys and identity.",
        discussion: """
            Stop the agent first. This command first destroys the root key, which makes the networks unreadable. Then \
            it overwrites and removes everything else, or erases it on flash. After an interruption, no agent starts \
            until the next run has finished the reset, without asking again:

              systemctl stop altnet
              altnet factory-reset                    everything: a new device needs a new label
              altnet factory-reset --keep-identity    keeps device id and local key, so the label stays valid
              altnet provision
              systemctl start altnet

            An SD card may keep old copies of overwritten data, including the root key: see \
            Docs/integrator/manufacturing.md. wpa_supplicant keeps the network and its password in memory until it is \
            restarted.

            EXIT STATUS
              0   the device is wiped
              1   the user did not agree, and nothing was done
              65  the file at the key file's path is not a key file
              74  a disk or a flash chip failed: run it again
              75  the agent is running
              77  no permission
              78  the agent's settings are invalid
            """)

    @OptionGroup var options: KeyFileOptions

    @Flag(help: "Keep device id and local key.")
    var keepIdentity = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Option(
        help: ArgumentHelp("The state directory (default: the agent's).", valueName: "path"))
    var stateDir: String?

    @Flag(help: "Print only errors.")
    var quiet = false

    func validate() throws {
        if quiet, options.json { throw ValidationError("--quiet and --json exclude each other") }
    }

    func run(_ console: Console) throws {
        let settings = try options.settings(stateDirectory: stateDir)
        let files = try DeviceFiles(settings, options.place(settings), owner: nil)
        let outcome = try files.finishReset() ?? reset(files, console)
        if options.json { return console.print(json: ResetDocument(outcome)) }
        for error in outcome.left { console.complain("\(error)".printable) }
        guard !quiet else { return }
        if !outcome.hadRootKey {
            console.advise(
                "There was no root key at \(try files.place.rootKey.readOnlySource().source.printable). "
                    + "If it is a credential, destroy it too: give its file with --root-key.")
        }
        console.print(
            outcome.scope == .everything
                ? "This device is wiped. 'altnet provision' gives it a new identity; print a new label."
                : "Networks, app keys and root key are wiped; id and local key stay. Continue with 'altnet provision'."
        )
    }

    private func reset(_ files: DeviceFiles, _ console: Console) throws -> DeviceFiles.ResetOutcome {
        let scope: FactoryReset.Scope = keepIdentity ? .networks : .everything
        // Prepare before asking: if the reset is impossible, the user need not decide.
        let reset = try files.prepareReset(scope, hasBegun: false)
        if !yes { try askForConsent(files, console) }
        return try files.perform(reset)
    }

    private func askForConsent(_ files: DeviceFiles, _ console: Console) throws {
        console.advise(
            """
            This permanently destroys:
              the networks in \(files.place.path.printable)
              the root key, \(try files.place.rootKey.readOnlySource().source.printable)
              the app keys in \(files.settings.stateDirectory.printable)
            """ + (keepIdentity ? "" : "\n  device id and local key in \(files.settings.stateDirectory.printable)"))
        let answer: String
        do { answer = try console.askText("Wipe this device? Type yes: ") } catch let failure as CommandFailure
            where failure.status == .badData
        {
            throw CommandFailure(.failed, "there is no terminal to ask on: give --yes")
        }
        guard answer == "yes" else { throw CommandFailure(.failed, "nothing was wiped") }
    }
}

private struct ResetDocument: Encodable {
    let wiped: String
    let hadRootKey: Bool
    let left: [String]

    init(_ outcome: DeviceFiles.ResetOutcome) {
        wiped = outcome.scope.rawValue
        hadRootKey = outcome.hadRootKey
        left = outcome.left.map { "\($0)" }
    }
}
