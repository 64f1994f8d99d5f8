import ArgumentParser
import KeyFile

struct KeyFileInspect: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show what the key file holds.",
        discussion: """
            Shows the networks with what is known of them, but never a password, nor anything that one could be guessed \
            by. Works beside a running agent, and changes nothing on the disk:

              altnet keyfile inspect
              altnet keyfile inspect --json | jq .state.backups
            """)

    @OptionGroup var options: KeyFileOptions

    func run(_ console: Console) throws {
        let place = try options.place()
        let (examination, state) = try place.readState()
        let document = KeyFileDocument(examination, state, place, isInUse: try place.isInUse())
        if options.json { return console.print(json: document) }
        console.print(KeyFileView(document: document, state: state, now: console.now()).render(console.style))
    }
}
