import Agent
import ArgumentParser

struct KeyFileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyfile", abstract: "Look into the key file, back it up, restore it, change its key.",
        discussion: """
            These commands read the key file itself and need no agent. They find it as the agent does, by the settings \
            ALTNET_STATE_DIR, ALTNET_KEYFILE, ALTNET_ROOT_KEY and ALTNET_KEYFILE_ANCHOR in \(AgentSettings.packagedFile) or \
            the environment, or by --keyfile and --root-key. Looking works beside a running agent and changes nothing; import and rekey need the agent stopped:

              altnet keyfile inspect
              altnet keyfile verify
              altnet keyfile export /media/stick/altnet.export
              altnet keyfile import /media/stick/altnet.export

            No password is ever shown.

            EXIT STATUS
              0   done; the key file is in order
              1   not so: the export's file is there, the key file holds networks
              65  key file, root key, export or passphrase is damaged or wrong
              74  a disk or a flash chip failed
              75  the agent has the key file open
              77  this user may not do that
              78  the agent's settings are not in order
            """,
        subcommands: [
            KeyFileInspect.self, KeyFileVerify.self, KeyFileExport.self, KeyFileImport.self, KeyFileRekey.self,
            KeyFileWear.self,
        ])
}

/// A command that reads or changes the key file itself.
protocol KeyFileSubcommand: ParsableCommand {
    var options: KeyFileOptions { get }

    /// - Throws: `CommandFailure` or an error of the store; what else comes is a defect.
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
