import Agent
import ArgumentParser
import Glibc
import KeyFile

struct KeyFileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyfile", abstract: "Inspect, check, export, import or rekey the key file.",
        discussion: """
            These commands read the key file directly, without an agent. They find it through the settings \
            ALTNET_STATE_DIR, ALTNET_KEYFILE, ALTNET_ROOT_KEY and ALTNET_KEYFILE_ANCHOR in \
            \(AgentSettings.packagedFile) or the environment, or through --keyfile and --root-key. Stop the agent \
            before import and rekey. The other commands change nothing and also work while it runs:

              altnet keyfile inspect
              altnet keyfile verify
              altnet keyfile export /media/stick/altnet.export
              altnet keyfile import /media/stick/altnet.export

            Passwords are never shown.

            EXIT STATUS
              0   done; the key file is in order
              1   refused: the export's file exists, or the key file already has networks
              65  the key file, root key, export or passphrase is damaged or wrong
              74  a disk or a flash chip failed
              75  the agent has the key file open
              77  no permission
              78  the agent's settings are invalid
            """,
        subcommands: [
            KeyFileInspect.self, KeyFileVerify.self, KeyFileExport.self, KeyFileImport.self, KeyFileRekey.self,
            KeyFileWear.self,
        ])
}

protocol KeyFileSubcommand: ParsableCommand {
    var options: KeyFileOptions { get }

    /// - Throws: `CommandFailure` or an error of the store; any other error is a defect.
    func run(_ console: Console) throws
}

extension KeyFileSubcommand {
    func run() throws {
        let console = Console.current
        do {
            try run(console)
        } catch let failure as CommandFailure {
            try console.report(failure, json: options.json)
        } catch let failure as any KeyFileFailure {
            try console.report(CommandFailure(failure), json: options.json)
        }
    }
}

struct KeyFileOptions: ParsableArguments {
    @OptionGroup var local: LocalOptions

    @Option(help: ArgumentHelp("The key file, or its partition (default: the agent's).", valueName: "path"))
    var keyfile: String?

    @Option(help: ArgumentHelp("The file with the root key (default: the agent's).", valueName: "path"))
    var rootKey: String?

    @Option(
        name: .customLong("settings"),
        help: ArgumentHelp(
            "The agent's settings file (default: \(AgentSettings.packagedFile), if it exists).",
            valueName: "file"))
    var settingsFile: String?

    @Flag(help: "Print JSON.")
    var json = false

    var settingsPath: String { settingsFile ?? AgentSettings.packagedFile }

    /// Reads the agent's settings, which contain the place and limits of the store.
    /// - Parameter stateDirectory: overrides the setting.
    func settings(stateDirectory: String? = nil) throws -> AgentSettings {
        var environment = AgentSettings.environmentOfProcess
        if let stateDirectory { environment["ALTNET_STATE_DIR"] = stateDirectory }
        return try AgentSettings.ofThisMachine(file: settingsFile, environment)
    }

    func place(_ settings: AgentSettings) -> StorePlace {
        var place = settings.storePlace
        // The anchor of the settings belongs to another store.
        if let keyfile, keyfile != place.path { place.anchorPath = nil }
        if let keyfile { place.path = keyfile }
        if let rootKey { place.rootKey = .file(path: rootKey) }
        return place
    }

    func place() throws -> StorePlace { place(try settings()) }
}

extension AgentSettings {
    static let packagedFile = "/etc/altnet/altnet.conf"

    /// Reads the settings of this machine's agent.
    /// - Parameter file: path of the settings file; nil for ``packagedFile``, if it exists.
    /// - Throws: `CommandFailure`.
    static func ofThisMachine(
        file: String? = nil, _ environment: [String: String] = environmentOfProcess
    ) throws -> AgentSettings {
        let file = file ?? (access(packagedFile, R_OK) == 0 ? packagedFile : nil)
        do throws(InvalidSettings) { return try SettingsSource(ofThisMachine: file, environment).read() } catch {
            throw CommandFailure(.badSettings, error.summary)
        }
    }
}

extension StorePlace {
    /// Examines the store.
    /// - Throws: `CommandFailure` if it does not exist.
    func examineExisting(usingRootKey: Bool = true) throws -> Examination {
        let examination = try examine(usingRootKey: usingRootKey)
        guard examination.isPresent else {
            throw CommandFailure(.badData, "no key file at \(path): the agent creates it with the first network")
        }
        return examination
    }

    /// Returns the state that an agent would read from the store.
    func readState() throws -> (examination: Examination, state: StoredState) {
        let examination = try examineExisting()
        switch examination.content {
        case .state(let state, _): return (examination, state)
        case .refused(let error): throw error
        case .sealed: throw KeyFileError.noRootKey(source: try rootKey.readOnlySource().source)
        case .empty: throw CommandFailure(.badData, "the key file is unreadable, run 'altnet keyfile verify': \(path)")
        }
    }
}
