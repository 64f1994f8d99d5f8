@testable import Agent

extension FuzzTarget {
    /// What is in the file of the apps' keys after a power cut or a fault of the disk is read, or refused; what was read
    /// is the same once it is written.
    static let appKeys = FuzzTarget(
        "app-keys", "the file of the apps' keys", longest: 4096, goal: 1_000_000,
        seeds: {
            bytes([
                #"{"version":1,"keys":[]}"#,
                #"{"version":1,"keys":[{"name":"Anna's phone","role":"manage","secret":"0123456789abcdef"}]}"#,
                #"{"version":1,"keys":[{"name":"a","role":"see","secret":"0123456789abcdef","created":"2026-01-01T00:00:00.000Z","expires":"2027-01-01T00:00:00.000Z","state":"revoked"}]}"#,
            ])
        }
    ) { bytes in
        do throws(AppKeyFileError) {
            let list = try AppKeyFile.list(in: bytes)
            precondition(Set(list.entries.map(\.name)).count == list.entries.count, "a name twice")
            guard let written = try? AppKeyFile.bytes(of: list), written.count <= AppKeyFile.longest else { return }
            precondition((try? AppKeyFile.list(in: written)) == list, "the keys read otherwise once they are written")
        } catch {
            precondition(error.description.utf8.count < 300)
        }
    }
}
