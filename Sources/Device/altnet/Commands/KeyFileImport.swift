import ArgumentParser
import KeyFile

struct KeyFileImport: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Put an export in the place of what the key file holds.",
        discussion: """
            Needs the agent stopped. Everything is imported or, if anything is wrong, nothing changes. A switch that was \
            under way is not imported, and counters that protect against replayed messages do not go back:

              systemctl stop altnet
              altnet keyfile import /media/stick/altnet.export
              systemctl start altnet
            """)

    @OptionGroup var options: KeyFileOptions

    @Argument(help: ArgumentHelp("The export.", valueName: "file"))
    var file: String

    @OptionGroup var passphrase: KeyFilePassphrase

    @Flag(help: "Let networks go that the key file holds now.")
    var replace = false

    func run(_ console: Console) throws {
        let settings = try options.settings()
        // First, so that no passphrase is typed for nothing.
        let keyFile = try options.place(settings).open(maximumBackups: settings.maximumBackups)
        let export = try PrivateFile.read(file, maximum: SealedExport.maximumSize)
        let secret = try passphrase.read(isNew: false, console)
        console.progress("Opening the export...")
        try keyFile.importState(try SealedExport.open(export, with: secret), replacing: replace)
        let count = keyFile.state.networkCount
        let findings = keyFile.report.map { "\($0)" }
        if options.json { return console.print(json: ImportDocument(networks: count, findings: findings)) }
        console.print("The key file holds \(count) \(count == 1 ? "network" : "networks") now.")
        for finding in findings { console.complain(finding.printable) }
    }
}

private struct ImportDocument: Encodable {
    let networks: Int
    let findings: [String]
}
