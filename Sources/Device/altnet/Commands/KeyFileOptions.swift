import Agent
import AgentModel
import ArgumentParser
import Glibc
import KeyFile

/// What every command on the key file takes.
struct KeyFileOptions: ParsableArguments {
    @OptionGroup var local: LocalOptions

    @Option(help: ArgumentHelp("The key file, or its partition (default: the agent's).", valueName: "path"))
    var keyfile: String?

    @Option(help: ArgumentHelp("The file with the root key (default: the agent's).", valueName: "path"))
    var rootKey: String?

    @Option(
        name: .customLong("settings"),
        help: ArgumentHelp(
            "The file with the agent's settings (default: \(AgentSettings.packagedFile), if it is there).",
            valueName: "file"))
    var settingsFile: String?

    @Flag(help: "Print JSON.")
    var json = false

    /// The agent's settings, which say where the store is and how much it may hold.
    /// - Parameter stateDirectory: counts more than what is set.
    func settings(stateDirectory: String? = nil) throws -> AgentSettings {
        var environment = AgentSettings.environmentOfProcess
        if let stateDirectory { environment["ALTNET_STATE_DIR"] = stateDirectory }
        return try AgentSettings.ofThisMachine(file: settingsFile, environment)
    }

    func place(_ settings: AgentSettings) -> StorePlace {
        var place = settings.storePlace
        // An anchor knows one store.
        if let keyfile, keyfile != place.path { place.anchorPath = nil }
        if let keyfile { place.path = keyfile }
        if let rootKey { place.rootKey = .file(path: rootKey) }
        return place
    }

    func place() throws -> StorePlace { place(try settings()) }
}

extension AgentSettings {
    /// Where a packaged device has its settings.
    static let packagedFile = "/etc/altnet/altnet.conf"

    /// The settings as this machine's agent has them, for who does its work while it does not run.
    /// - Parameter file: nil for a packaged device's, if this is one.
    /// - Throws: `CommandFailure`.
    static func ofThisMachine(
        file: String? = nil, _ environment: [String: String] = environmentOfProcess
    ) throws -> AgentSettings {
        let file = file ?? (access(packagedFile, R_OK) == 0 ? packagedFile : nil)
        do throws(InvalidSettings) { return try SettingsSource(file: file, environment: environment).read() } catch {
            throw CommandFailure(.badSettings, error.summary)
        }
    }
}

extension StorePlace {
    /// Looks into a store that is there.
    func examineExisting(usingRootKey: Bool = true) throws -> Examination {
        let examination = try examine(usingRootKey: usingRootKey)
        guard examination.isPresent else {
            throw CommandFailure(.badData, "there is no key file at \(path): the agent makes it with the first network")
        }
        return examination
    }

    /// The state that the store holds, as it would be when it is opened.
    func readState() throws -> (examination: Examination, state: StoredState) {
        let examination = try examineExisting()
        switch examination.content {
        case .state(let state, _): return (examination, state)
        case .refused(let error): throw error
        case .sealed: throw KeyFileError.noRootKey(source: try rootKey.readOnlySource().source)
        case .empty: throw CommandFailure(.badData, "no state can be read from \(path): see 'altnet keyfile verify'")
        }
    }
}
