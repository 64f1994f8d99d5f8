import ArgumentParser
import KeyFile

struct KeyFileRekey: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey", abstract: "Encrypt the key file with a new root key.",
        discussion: """
            Stop the agent first. Without --to-root-key, the root key's file gets a new random key. If the power fails \
            during the change, the key file still opens, and the change is finished or undone.

            This command cannot replace a root key that is a systemd credential. Create the new credential first, \
            beside the old one, so that a power cut does not lose the only key. Then rekey the key file and move the \
            credential into place:

              umask 077; head -c 32 /dev/urandom > /run/root-key
              systemd-creds encrypt --name=altnet.root-key /run/root-key /etc/altnet/root-key.cred.new && sync
              altnet keyfile rekey --root-key OLD-KEY-FILE --to-root-key /run/root-key
              mv /etc/altnet/root-key.cred.new /etc/altnet/root-key.cred && sync
              rm /run/root-key

            Use systemd-creds decrypt to get OLD-KEY-FILE from the old credential.
            """)

    @OptionGroup var options: KeyFileOptions

    @Option(
        help: ArgumentHelp("The file of the new root key, created if missing.", valueName: "path"))
    var toRootKey: String?

    func run(_ console: Console) throws {
        let settings = try options.settings()
        var place = options.place(settings)
        _ = try place.examineExisting(usingRootKey: false)
        if let toRootKey {
            guard place.rootKey != .file(path: toRootKey) else {
                throw CommandFailure(
                    .badData, "\(toRootKey) is the current root key's file: omit --to-root-key to change the key in it")
            }
            let target = StorePlace.RootKeyPlace.file(path: toRootKey)
            try place.open(maximumBackups: settings.maximumBackups).changeRootKey(to: try target.source())
            place.rootKey = target
        } else {
            try Self.requireFile(place.rootKey)
            try place.open(maximumBackups: settings.maximumBackups).renewRootKey()
        }
        try check(place)
        let source = try place.rootKey.readOnlySource().source
        if options.json { return console.print(json: ["rootKey": source]) }
        console.print("The key file is encrypted with the new root key in \(source.printable), and was read back.")
        if toRootKey != nil {
            console.print(
                "Set ALTNET_ROOT_KEY for the agent, or make it a credential: see 'altnet help keyfile rekey'.")
        }
    }

    static func requireFile(_ rootKey: StorePlace.RootKeyPlace) throws {
        guard case .credential(let name, _) = rootKey else { return }
        throw CommandFailure(
            .failed,
            "the root key is the credential \(name), which this command cannot change: give --to-root-key FILE and "
                + "make a credential of that file, see 'altnet help keyfile rekey'")
    }

    /// Checks that the store opens with the new key, so that the old one can be discarded.
    private func check(_ place: StorePlace) throws {
        let (examination, _) = try place.readState()
        guard !examination.sectors.contains(where: { $0.state == .otherKey }) else {
            throw CommandFailure(.deviceFailure, "some sectors still use the old root key: keep it and try again")
        }
    }
}
