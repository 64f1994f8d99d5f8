import Connectivity
import Foundation

/// A folder for notes about networks, as they are below /run and /etc.
struct NoteFolder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-notes-\(UUID())")

    /// - Parameter hook: whether our hook has ever written anything.
    init(hook: Bool = true) throws {
        for folder in hook ? ["leases", "links"] : ["links"] {
            try FileManager.default.createDirectory(
                at: url.appendingPathComponent(folder), withIntermediateDirectories: true)
        }
    }

    var files: NoteFiles {
        NoteFiles(
            leases: url.path + "/leases", links: url.path + "/links", resolver: url.path + "/resolv.conf")
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
    }

    func read(_ name: String) -> String? { try? String(contentsOf: url.appendingPathComponent(name), encoding: .utf8) }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
