import ArgumentParser
import KeyFile

struct KeyFileVerify: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check every sector of the key file.",
        discussion: """
            Checks each sector's header and records, that each record is what was written there, and that each sector \
            continues the one before. Without the root key it checks checksums only. Works beside a running agent, and \
            changes nothing on the disk.

            Ends with 0 if the key file is in order, or shows only what a power cut leaves, and with 65 if it is damaged.
            """)

    @OptionGroup var options: KeyFileOptions

    @Flag(help: "Check checksums only, without the root key.")
    var noRootKey = false

    func run(_ console: Console) throws {
        let place = try options.place()
        let examination = try place.examineExisting(usingRootKey: !noRootKey)
        let document = SectorsDocument(examination, place, isInUse: try place.isInUse())
        if options.json {
            console.print(json: document)
        } else {
            console.print(SectorsView(examination: examination, path: place.path).render(console.style))
        }
        if examination.verdict == .damaged { throw ExitCode(ExitStatus.badData.rawValue) }
    }
}
