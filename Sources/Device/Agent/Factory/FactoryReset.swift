import AgentModel
import Glibc
import KeyFile

/// Makes a device forget: its networks, and its identity unless that is to stay.
///
/// A mark in the state directory is the first that is written and the last that goes. While it is there the device
/// counts as wiped: no agent starts with what is left, and the next `altnet factory-reset` or `altnet provision`
/// finishes. So a power cut finds the device as it was before, or wiped.
package struct FactoryReset {
    package enum Scope: String, Sendable, CaseIterable {
        case everything
        /// Networks and root key; device id and local key stay, and with them the label.
        case networks
    }

    private static let mark = "factory-reset"

    package let scope: Scope
    private let state: any FileOperations
    private let rootKey: RootKeyFile?
    private let store: StoreEraser
    private let recordPath: String?

    /// - Parameters:
    ///   - state: the state directory.
    ///   - rootKey: nil where it is not in a file that can be destroyed.
    ///   - recordPath: the file with the policy's recording, which has the names of networks.
    package init(
        _ scope: Scope, state: any FileOperations, rootKey: RootKeyFile?, store: StoreEraser,
        recordPath: String? = nil
    ) {
        self.scope = scope
        self.state = state
        self.rootKey = rootKey
        self.store = store
        self.recordPath = recordPath
    }

    /// The reset that a power cut has ended in the middle, if there is one.
    /// - Parameter state: the state directory.
    package static func underWay(in state: any FileOperations) throws(KeyFileError) -> Scope? {
        guard let word = try state.readSmall(mark, maximum: 64) else { return nil }
        // A file that cannot be read does not say what it was to spare.
        return word.withBytes {
            Scope(rawValue: String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
            ?? .everything
    }

    /// - Throws: `UnfinishedReset` where the device is being wiped, and `KeyFileError` where that cannot be seen.
    static func requireNone(in directory: String) throws {
        guard try underWay(in: Folder.openForReading(directory)) != nil else { return }
        throw UnfinishedReset()
    }

    // In this order, each durable before the next.

    /// From here on the device counts as wiped.
    package func begin() throws(KeyFileError) {
        try Secret(text: scope.rawValue + "\n").withBytes { word throws(KeyFileError) in
            try state.replace(Self.mark, with: word)
        }
    }

    /// Destroys the root key: from here on the store cannot be read, whatever is left of it.
    /// - Returns: whether there was one.
    package func destroyRootKey() throws(KeyFileError) -> Bool {
        guard let rootKey else { return false }
        let isThere = try rootKey.isThere()
        try rootKey.destroy()
        return isThere
    }

    /// Destroys the rest, and forgets that there was a reset.
    /// - Returns: what of the store could not be destroyed.
    package func finish() throws -> [KeyFileError] {
        let left = try store.destroy()
        try destroyRecord()
        if scope == .everything { try IdentityFolder(state).destroy() }
        try state.remove(Self.mark)
        try state.synchroniseDirectory()
        return left
    }
}

extension FactoryReset {
    private func destroyRecord() throws(KeyFileError) {
        guard let recordPath, let (folder, name) = KeyFile.split(recordPath) else { return }
        do {
            let files = try Folder.open(folder)
            try files.destroy(name)
            try files.synchroniseDirectory()
        } catch .system(.open, _, ENOENT) {}
    }
}

/// A factory reset was cut short: what is left of the device is not to be used.
public struct UnfinishedReset: Error, CustomStringConvertible {
    public var description: String {
        "a factory reset was cut short: finish it with 'altnet factory-reset', or with 'altnet provision', as root"
    }
}
