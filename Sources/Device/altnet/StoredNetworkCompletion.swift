import AppClient
import AppProtocol
import ArgumentParser

extension CompletionKind {
    /// Names of the stored networks, as the agent tells them that the command line asks so far. Nothing where it does
    /// not answer at once.
    static var storedNetwork: CompletionKind {
        .custom { words, index, _ in await StoredNetworkCompletion.words(for: words, at: index) }
    }
}

/// What a shell is told that completes the name of a stored network.
enum StoredNetworkCompletion {
    /// How long somebody who has pressed a key waits. Tests put their own in its place.
    @TaskLocal static var patience = Duration.seconds(1)

    /// - Parameters:
    ///   - words: the command line, `altnet` included.
    ///   - index: of the word to be completed.
    static func words(for words: [String], at index: Int) async -> [String] {
        var line = words
        // The word is not whole yet, and may be missing: the command is understood as if it were there.
        let word = "network"
        if line.indices.contains(index) { line[index] = word } else { line.append(word) }
        // Whatever there is to be said would be said into the line that is being typed.
        var silent = Console.current
        silent.errors = { _ in }
        guard let command = try? Altnet.parseAsRoot(Array(line.dropFirst())) as? any DeviceCommand,
            let device = try? await command.connect(silent, within: patience)
        else { return [] }
        let list = try? await device.backups()
        await device.close()
        return list.map { Self.words(for: $0) } ?? []
    }

    /// The SSID where no shell takes any of it for something else, the beginning of the hash otherwise: bash, for one,
    /// expands what it is told, and would run the commands in it.
    static func words(for list: BackupList) -> [String] {
        list.networks.map { network in
            let name = "\(network.ssid)"
            let isUnique = list.networks.count { $0.ssid == network.ssid } == 1
            return isUnique && isHarmless(name) ? name : String(network.hash.base64.prefix(8))
        }
    }

    private static func isHarmless(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
