import AgentModel
import Glibc
import KeyFile

/// A file with codes on a board's boot partition, where any computer can write it: how a board without screen and
/// keyboard gets its first network.
///
/// Once its content is stored, it is overwritten and removed. One that cannot be used stays, with the reason in a file
/// beside it, which the user finds where the code was written.
struct BootFile {
    let path: String
    private let name: String
    private let folder: any FileOperations

    /// The file with the reason, in a form that every computer opens.
    static let reasonName = "altnet-error.txt"

    /// - Returns: the first of the files that is there; nil where none is.
    /// - Throws: `KeyFileError` where that cannot be seen.
    static func first(of paths: [String]) throws -> BootFile? {
        for path in paths {
            guard let (folder, name) = KeyFile.split(path) else { throw KeyFileError.invalidPath(path) }
            guard let files = try open(folder), try files.holds(name) else { continue }
            return BootFile(path: path, name: name, folder: files)
        }
        return nil
    }

    /// - Returns: nil where a boot partition is not mounted, or not there.
    private static func open(_ folder: String) throws(KeyFileError) -> (any FileOperations)? {
        do { return try Folder.open(folder) } catch .system(_, _, ENOENT) { return nil }
    }

    /// Whether it can be wiped: a boot partition may be mounted read-only.
    var isWritable: Bool {
        guard let file = try? folder.open(name, forWriting: true) else { return false }
        folder.close(file)
        return true
    }

    /// - Returns: nil where a power cut has left a file that is wiped already, or nearly.
    func codes() throws -> ProvisioningCodes? {
        guard let content = try folder.readSmall(name, maximum: ProvisioningCodes.maximumLength + 1) else { return nil }
        var text = content.withBytes { Array($0) }
        defer { text.withUnsafeMutableBytes { AgentModel.wipe($0) } }
        guard text.first != 0 else { return nil }
        // Editors of other systems begin a file with its encoding.
        guard !text.starts(with: [0xff, 0xfe]), !text.starts(with: [0xfe, 0xff]) else {
            throw CommandFailure(.badData, "\(path.printable) is UTF-16: save it as UTF-8 or plain text")
        }
        let mark = text.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        return try ProvisioningCodes(reading: text.dropFirst(mark), from: path.printable)
    }

    /// Takes the secrets out of it, and then its name away, durably.
    func wipe() throws(KeyFileError) {
        try folder.destroy(name)
        try folder.remove(Self.reasonName)
        try folder.synchroniseDirectory()
    }

    /// Says beside the file why it was not used. Where that cannot be written the log says it alone.
    /// - Parameter reason: one sentence without a secret.
    func leave(because reason: String) {
        let lines = "altnet has not used \(name.printable): \(reason)\r\nMend it and start the board again.\r\n"
        try? Secret(text: lines).withBytes { bytes throws(KeyFileError) in
            try folder.replace(Self.reasonName, with: bytes)
        }
    }
}
