import ArgumentParser
import KeyFile

struct KeyFileExport: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write everything the key file holds to a file, sealed with a passphrase.",
        discussion: """
            The export does not depend on the device's root key: it is opened with its passphrase alone, on any device. \
            Asks for the passphrase twice, or reads it from standard input. Works beside a running agent:

              altnet keyfile export /media/stick/altnet.export
              pass show altnet/export | altnet keyfile export --passphrase-stdin - | ssh host 'cat > altnet.export'
            """)

    @OptionGroup var options: KeyFileOptions

    @Argument(help: ArgumentHelp("The file to make, or - for standard output.", valueName: "file"))
    var file: String

    @OptionGroup var passphrase: KeyFilePassphrase

    @Flag(help: "Replace the file if it is there.")
    var force = false

    func run(_ console: Console) throws {
        let isStandardOutput = file == "-"
        guard !isStandardOutput || !console.style.goesToTerminal else {
            throw CommandFailure(.badData, "an export is nothing for a terminal: name a file, or send it on with |")
        }
        let place = try options.place()
        let state = try place.readState().state
        let secret = try passphrase.read(isNew: true, console)
        console.progress("Sealing...")
        let export = try SealedExport.seal(state, under: secret)
        guard !isStandardOutput else { return try PrivateFile.writeToStandardOutput(export) }
        try PrivateFile.write(export, to: file, replacing: force)
        let count = state.networkCount
        if options.json { return console.print(json: ExportDocument(file: file, bytes: export.count, networks: count)) }
        console.print("\(file.printable) holds \(count) \(count == 1 ? "network" : "networks") now.")
    }
}

private struct ExportDocument: Encodable {
    let file: String
    let bytes: Int
    let networks: Int
}
