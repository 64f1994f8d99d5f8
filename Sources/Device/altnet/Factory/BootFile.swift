import AgentModel
import Glibc
import KeyFile

/// A file with codes on a board's boot partition, which any computer can write. It gives a board without screen and
/// keyboard its first network.
///
/// The file is wiped and removed once its content is stored. A file with unusable content stays, and a file beside it
/// states the reason.
struct BootFile {
    let path: String
    private let name: String
    private let folder: any FileOperations

    static let reasonName = "altnet-error.txt"

    /// - Returns: the first existing file; nil if there is none.
    /// - Throws: `KeyFileError` if a folder cannot be read.
    static func first(of paths: [String]) throws -> BootFile? {
        for path in paths {
            guard let (folder, name) = KeyFile.split(path) else { throw KeyFileError.invalidPath(path) }
            guard let files = try open(folder), try files.holds(name) else { continue }
            return BootFile(path: path, name: name, folder: files)
        }
        return nil
    }

    /// - Returns: nil if the folder is missing, as on an unmounted boot partition.
    private static func open(_ folder: String) throws(KeyFileError) -> (any FileOperations)? {
        do { return try Folder.open(folder) } catch .system(_, _, ENOENT) { return nil }
    }

    /// Whether the file can be wiped. A boot partition may be mounted read-only.
    var isWritable: Bool {
        guard let file = try? folder.open(name, forWriting: true) else { return false }
        folder.close(file)
        return true
    }

    /// - Returns: the codes; nil if the file was already wiped before a power cut.
    func codes() throws -> ProvisioningCodes? {
        guard let content = try folder.readSmall(name, maximum: ProvisioningCodes.maximumLength + 1) else { return nil }
        var text = content.withBytes { Array($0) }
        defer { text.withUnsafeMutableBytes { AgentModel.wipe($0) } }
        guard text.first != 0 else { return nil }
        return try ProvisioningCodes(reading: text, from: path.printable)
    }

    /// Overwrites the file, and removes it durably.
    func wipe() throws(KeyFileError) {
        try folder.destroy(name)
        try folder.remove(Self.reasonName)
        try folder.synchroniseDirectory()
    }

    /// Writes the reason into a file beside this one. Ignores errors.
    /// - Parameter reason: one sentence without a secret.
    func leave(because reason: String) {
        let lines = "altnet did not use \(name.printable): \(reason)\r\nCorrect the file and restart the board.\r\n"
        try? Secret(text: lines).withBytes { bytes throws(KeyFileError) in
            try folder.replace(Self.reasonName, with: bytes)
        }
    }
}
