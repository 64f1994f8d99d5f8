import AppProtocol
import KeyFile
import Linux

/// Reads and writes the key file on the disk loop, so that a slow disk never delays a failover.
package actor Store {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { DiskLoop.sharedUnownedExecutor }

    private let keyFile: KeyFile

    init(_ settings: AgentSettings) throws(KeyFileError) {
        try self.init(settings.storePlace, maximumBackups: settings.maximumBackups)
    }

    package init(_ place: StorePlace, maximumBackups: Int) throws(KeyFileError) {
        keyFile = try place.open(maximumBackups: maximumBackups)
    }

    package var state: StoredState { keyFile.state }
    var report: [StoreFinding] { keyFile.report }
    var usage: RecordLog.Usage { keyFile.usage }

    /// Whether the store can be written, checked with the medium.
    var isWritable: Bool {
        do throws(KeyFileError) {
            try keyFile.requireWritable()
            return true
        } catch {
            return false
        }
    }

    /// Changes the state atomically. The conditions that `change` checks still hold when the result is stored.
    /// - Returns: the stored state.
    /// - Throws: the error of `change`, or the key file's error.
    @discardableResult
    package func update(
        _ change: @Sendable (inout StoredState) throws(ProtocolError) -> Void
    ) throws(ProtocolError) -> StoredState {
        var state = keyFile.state
        try change(&state)
        do { try keyFile.commit(state) } catch { throw ProtocolError(error) }
        return keyFile.state
    }
}

extension ProtocolError {
    init(_ error: KeyFileError) {
        switch error {
        case .tooManyBackups(let count, let maximum):
            self.init(.tooManyNetworks, "\(error)", details: ["max": .number(maximum), "count": .number(count)])
        case .duplicateBackup: self.init(.duplicateNetwork, "\(error)")
        case .invalidPassphrase: self.init(.invalidPassword, "\(error)")
        default: self.init(.storageFailed, "\(error)")
        }
    }
}
