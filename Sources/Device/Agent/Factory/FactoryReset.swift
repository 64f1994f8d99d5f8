import AgentModel
import Glibc
import KeyFile

/// Resets a device: removes networks, apps' keys and, with `everything`, its identity. `PersistentFile.all` lists the
/// files.
///
/// A mark in the state directory is written first and removed last. While it exists the device counts as wiped: no
/// agent starts, and the next `altnet factory-reset` or `altnet provision` finishes the reset. After a power cut the
/// device is either unchanged or wiped.
package struct FactoryReset {
    package enum Scope: String, Sendable, CaseIterable {
        case everything
        /// Keeps device ID, local key and certificate, so that the label stays valid.
        case networks

        package var remover: PersistentFile.RemovedBy { self == .everything ? .reset : .button }
    }

    static let mark = "factory-reset"

    package let scope: Scope
    private let state: any FileOperations
    private let rootKey: RootKeyFile?
    private let store: StoreEraser
    private let settings: AgentSettings?

    /// - Parameters:
    ///   - state: the state directory.
    ///   - rootKey: file of the root key; nil if the key is not in a file that can be destroyed.
    ///   - settings: settings with paths outside of the state directory; nil if there are no such files.
    package init(
        _ scope: Scope, state: any FileOperations, rootKey: RootKeyFile?, store: StoreEraser,
        settings: AgentSettings? = nil
    ) {
        self.scope = scope
        self.state = state
        self.rootKey = rootKey
        self.store = store
        self.settings = settings
    }

    /// Returns the scope of an interrupted reset; nil if there is none.
    /// - Parameter state: the state directory.
    package static func underWay(in state: any FileOperations) throws(KeyFileError) -> Scope? {
        guard let word = try state.readSmall(mark, maximum: 64) else { return nil }
        // An unreadable mark does not say what to keep, so reset everything.
        return word.withBytes {
            Scope(rawValue: String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
            ?? .everything
    }

    /// - Throws: `UnfinishedReset` after an interrupted reset; `KeyFileError` if the mark cannot be read.
    static func requireNone(in directory: String) throws {
        guard try underWay(in: Folder.openForReading(directory)) != nil else { return }
        throw UnfinishedReset()
    }

    // Call the following functions in this order. The work of each is durable when it returns.

    package func begin() throws(KeyFileError) {
        try Secret(text: scope.rawValue + "\n").withBytes { word throws(KeyFileError) in
            try state.replace(Self.mark, with: word)
        }
    }

    /// Destroys the root key, after which the store cannot be decrypted.
    /// - Returns: false if there was no root key.
    package func destroyRootKey() throws(KeyFileError) -> Bool {
        guard let rootKey else { return false }
        let isThere = try rootKey.isThere()
        try rootKey.destroy()
        return isThere
    }

    /// Destroys all other files and removes the mark.
    /// - Returns: an error for each file outside of the state directory and each bad sector of raw flash that remains.
    ///   The files give no access to the device. The sectors can be read with the root key: the user must destroy it if
    ///   `rootKey` is nil.
    package func finish() throws -> [KeyFileError] {
        let files = PersistentFile.all.filter { $0.removedBy.contains(scope.remover) }
        // The list begins with the keys of apps, because these give access to the device.
        for file in files where file.location == .state {
            for name in file.names where name != Self.mark { try state.destroy(name) }
        }
        try state.synchroniseDirectory()
        var left = try store.destroy()
        for file in files where [.runtime, .recording, .metrics].contains(file.location) {
            left += destroyOutside(file)
        }
        try state.remove(Self.mark)
        try state.synchroniseDirectory()
        return left
    }

    /// Destroys a file outside of the state directory. Errors do not stop the reset, because the file gives no access
    /// to the device.
    private func destroyOutside(_ file: PersistentFile) -> [KeyFileError] {
        guard let settings else { return [] }
        return file.paths(settings).compactMap { path in
            guard let (folder, name) = KeyFile.split(path) else { return nil }
            if name == "*" {
                ReadingMarks.removeAll(in: folder)
                return nil
            }
            do throws(KeyFileError) {
                let files = try Folder.open(folder)
                try files.destroy(name)
                try files.synchroniseDirectory()
                return nil
            } catch .system(.open, _, ENOENT) {
                return nil
            } catch {
                return error
            }
        }
    }
}

/// A factory reset was interrupted. The remaining files must not be used.
public struct UnfinishedReset: Error, CustomStringConvertible {
    public var description: String {
        "a factory reset was interrupted: run 'altnet factory-reset' or 'altnet provision' as root to finish it"
    }
}
