import Agent
import AgentModel
import ArgumentParser
import KeyFile

struct FactoryResetCommand: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "factory-reset", abstract: "Wipe this device: its networks, its keys, and its identity.",
        discussion: """
            Stop the agent first. This command destroys the root key first, without which the networks cannot be read. \
            Then it overwrites and removes everything else, or erases it on flash. A reset that was cut short is \
            finished by the next run, without asking again; until then no agent starts:

              systemctl stop altnet
              altnet factory-reset                    everything: a new device needs a new label
              altnet factory-reset --keep-identity    device id and local key, hence the label, stay
              altnet provision
              systemctl start altnet

            An SD card may keep old copies of what was overwritten, the root key among them: \
            Docs/integrator/manufacturing.md says what that means. wpa_supplicant stays in its network, whose password \
            it has in memory, until it is restarted.

            EXIT STATUS
              0   the device is wiped
              1   the user did not agree, and nothing was done
              65  the file in the place of the key file is none
              74  a disk or a flash chip failed: run it again
              75  the agent runs
              77  this user may not do that
              78  the agent's settings are not in order
            """)

    @OptionGroup var options: KeyFileOptions

    @Flag(help: "Keep device id and local key.")
    var keepIdentity = false

    @Flag(help: "Do not ask.")
    var yes = false

    @Option(
        help: ArgumentHelp("The state directory (default: the agent's).", valueName: "path"))
    var stateDir: String?

    @Flag(help: "Print nothing if all is well.")
    var quiet = false

    func validate() throws {
        if quiet, options.json { throw ValidationError("--quiet and --json exclude each other.") }
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
                "There was no root key at \(try files.place.rootKey.readOnlySource().source.printable). If it is a credential, "
                    + "destroy that as well: its file may be named by --root-key.")
        }
        console.print(
            outcome.scope == .everything
                ? "This device is wiped. 'altnet provision' makes a new one of it, which needs a new label."
                : "This device's networks, keys of apps and root key are wiped; id and local key stay. 'altnet provision' goes on."
        )
    }

    private func reset(_ files: DeviceFiles, _ console: Console) throws -> DeviceFiles.ResetOutcome {
        let scope: FactoryReset.Scope = keepIdentity ? .networks : .everything
        // Check first, so that the user does not agree in vain.
        let reset = try files.prepareReset(scope, hasBegun: false)
        if !yes { try askForConsent(files, console) }
        return try files.carryOut(reset)
    }

    private func askForConsent(_ files: DeviceFiles, _ console: Console) throws {
        console.advise(
            """
            This destroys, for good:
              the networks in \(files.place.path.printable)
              the root key, \(try files.place.rootKey.readOnlySource().source.printable)
              the keys of apps in \(files.settings.stateDirectory.printable)
            """ + (keepIdentity ? "" : "\n  device id and local key in \(files.settings.stateDirectory.printable)"))
        let answer: String
        do { answer = try console.askText("Wipe this device? Type yes: ") } catch let failure as CommandFailure
            where failure.status == .badData
        {
            throw CommandFailure(.failed, "there is no terminal to ask on: --yes agrees")
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
