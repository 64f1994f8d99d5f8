import AgentModel
import ArgumentParser
import KeyFile

/// Where the passphrase of an export comes from.
struct KeyFilePassphrase: ParsableArguments {
    @Flag(help: "Read the passphrase from the first line of standard input instead of asking for it.")
    var passphraseStdin = false

    /// - Parameter isNew: to be asked for twice, and of some length.
    func read(isNew: Bool, _ console: Console) throws -> Secret {
        let passphrase = passphraseStdin ? try readInput(console) : try ask("Passphrase of the export: ", console)
        guard isNew else { return passphrase }
        guard passphrase.count >= SealedExport.shortestPassphrase else {
            throw ExportError.passphraseTooShort(passphrase.count)
        }
        if !passphraseStdin, try ask("Once more: ", console) != passphrase {
            throw CommandFailure(.badData, "the two passphrases differ: try again")
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
