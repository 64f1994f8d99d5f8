import AgentModel
import KeyFile

/// A small text file of the agent's, which is replaced as a whole.
struct SmallFile: Sendable {
    let directory: String
    let name: String
    /// In bytes.
    let longest: Int

    /// Nil where there is none, or none that can be read.
    func read() -> [UInt8]? {
        guard let folder = try? Folder.openForReading(directory),
            let content = try? folder.readSmall(name, maximum: longest)
        else { return nil }
        return content.withBytes { Array($0) }
    }

    /// - Throws: where it cannot be written; what was there stays.
    func write(_ text: String) throws(KeyFileError) {
        let folder = try Folder.open(directory)
        try Secret(text: text).withBytes { bytes throws(KeyFileError) in try folder.replace(name, with: bytes) }
    }
}
