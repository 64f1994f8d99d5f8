import AgentModel
import ArgumentParser
import KeyFile

struct KeyFileExport: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export the key file to a file, encrypted with a passphrase.",
        discussion: """
            Only the passphrase is needed to import the file, on any device. Asks for the passphrase twice, or reads \
            it from standard input. Also works while the agent runs:

              altnet keyfile export /media/stick/altnet.export
              pass show altnet/export | altnet keyfile export --passphrase-stdin - | ssh host 'cat > altnet.export'
            """)

    @OptionGroup var options: KeyFileOptions

    @Argument(help: ArgumentHelp("The file to create, or - for standard output.", valueName: "file"))
    var file: String

    @OptionGroup var passphrase: KeyFilePassphrase

    @Flag(help: "Replace the file if it exists.")
    var force = false

    func run(_ console: Console) throws {
        let isStandardOutput = file == "-"
        guard !isStandardOutput || !console.style.goesToTerminal else {
            throw CommandFailure(.badData, "an export is binary: give a file, or pipe it to another program")
        }
        let place = try options.place()
        let state = try place.readState().state
        let secret = try passphrase.read(isNew: true, console)
        console.progress("Encrypting...")
        let export = try SealedExport.seal(state, under: secret)
        guard !isStandardOutput else { return try PrivateFile.writeToStandardOutput(export) }
        try PrivateFile.write(export, to: file, replacing: force)
        let count = state.networkCount
        if options.json { return console.print(json: ExportDocument(file: file, bytes: export.count, networks: count)) }
        console.print("\(file.printable) contains \(count) \(count == 1 ? "network" : "networks").")
    }
}

private struct ExportDocument: Encodable {
    let file: String
    let bytes: Int
    let networks: Int
}

struct KeyFileImport: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import an export into the key file.",
        discussion: """
            Stop the agent first. The import replaces the whole key file or, after an error, changes nothing. An \
            unfinished switch is not imported, and counters against replayed messages never go back:

              systemctl stop altnet
              altnet keyfile import /media/stick/altnet.export
              systemctl start altnet
            """)

    @OptionGroup var options: KeyFileOptions

    @Argument(help: ArgumentHelp("The exported file.", valueName: "file"))
    var file: String

    @OptionGroup var passphrase: KeyFilePassphrase

    @Flag(help: "Replace the networks that the key file has now.")
    var replace = false

    func run(_ console: Console) throws {
        let settings = try options.settings()
        // Open the key file before asking: if that fails, the user need not type the passphrase.
        let keyFile = try options.place(settings).open(maximumBackups: settings.maximumBackups)
        let export = try PrivateFile.read(file, maximum: SealedExport.maximumSize)
        let secret = try passphrase.read(isNew: false, console)
        console.progress("Opening the export...")
        try keyFile.importState(try SealedExport.open(export, with: secret), replacing: replace)
        let count = keyFile.state.networkCount
        let findings = keyFile.report.map { "\($0)" }
        if options.json { return console.print(json: ImportDocument(networks: count, findings: findings)) }
        console.print("The key file contains \(count) \(count == 1 ? "network" : "networks").")
        for finding in findings { console.complain(finding.printable) }
    }
}

private struct ImportDocument: Encodable {
    let networks: Int
    let findings: [String]
}

struct KeyFilePassphrase: ParsableArguments {
    @Flag(help: "Read the passphrase from the first line of standard input instead of asking for it.")
    var passphraseStdin = false

    /// - Parameter isNew: whether to ask twice and to check the length.
    func read(isNew: Bool, _ console: Console) throws -> Secret {
        let passphrase = passphraseStdin ? try readInput(console) : try ask("Passphrase of the export: ", console)
        guard isNew else { return passphrase }
        guard passphrase.count >= SealedExport.shortestPassphrase else {
            throw ExportError.passphraseTooShort(passphrase.count)
        }
        if !passphraseStdin, try ask("Once more: ", console) != passphrase {
            throw CommandFailure(.badData, "the passphrases differ: try again")
        }
        return passphrase
    }

    private func readInput(_ console: Console) throws -> Secret {
        var input = try console.input(4096)
        defer { input.withUnsafeMutableBytes { wipe($0) } }
        return input.withUnsafeBytes { bytes in
            Secret(bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") })
        }
    }

    private func ask(_ prompt: String, _ console: Console) throws -> Secret {
        do { return try console.askPassword(prompt) } catch let failure as CommandFailure
            where failure.status == .badData
        {
            throw CommandFailure(.badData, "there is no terminal to ask for the passphrase: use --passphrase-stdin")
        }
    }
}
