import AgentModel
import Glibc
import KeyFile

/// Makes a device forget: its networks, the keys of its apps, and its identity unless that is to stay. `KeptFile.all` says of each
/// file which reset takes it.
///
/// A mark in the state directory is the first that is written and the last that goes. While it is there the device
/// counts as wiped: no agent starts with what is left, and the next `altnet factory-reset` or `altnet provision`
/// finishes. So a power cut finds the device as it was before, or wiped.
package struct FactoryReset {
    package enum Scope: String, Sendable, CaseIterable {
        case everything
        /// Everything but device id, local key and certificate, and with them the label.
        case networks

        package var taker: KeptFile.Takers { self == .everything ? .reset : .button }
    }

    static let mark = "factory-reset"

    package let scope: Scope
    private let state: any FileOperations
    private let rootKey: RootKeyFile?
    private let store: StoreEraser
    private let settings: AgentSettings?

    /// - Parameters:
    ///   - state: the state directory.
    ///   - rootKey: nil where it is not in a file that can be destroyed.
    ///   - settings: name the files outside of the state directory; nil where there are none.
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
    /// - Returns: the errors of what could not be destroyed and opens nothing.
    package func finish() throws -> [KeyFileError] {
        let files = KeptFile.all.filter { $0.takenBy.contains(scope.taker) }
        // Keys of apps are the first of the list: they open the device.
        for file in files where file.place == .state {
            for name in file.names where name != Self.mark { try state.destroy(name) }
        }
        try state.synchroniseDirectory()
        var left = try store.destroy()
        for file in files where [.runtime, .recording, .metrics].contains(file.place) { left += destroyOutside(file) }
        try state.remove(Self.mark)
        try state.synchroniseDirectory()
        return left
    }

    /// Destroys a file outside of the state directory. It opens nothing, so the reset ends also where it cannot be destroyed.
    private func destroyOutside(_ file: KeptFile) -> [KeyFileError] {
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

/// A factory reset was cut short: what is left of the device is not to be used.
public struct UnfinishedReset: Error, CustomStringConvertible {
    public var description: String {
        "a factory reset was cut short: finish it with 'altnet factory-reset', or with 'altnet provision', as root"
    }
}
