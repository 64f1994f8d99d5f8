import AgentModel

extension KeyFile {
    /// Puts an exported state in the place of what is stored, as one commit.
    ///
    /// A switch that was under way belongs to the device it was exported from, and is left out. Counters that keep messages
    /// from being accepted twice stay at the larger of the two numbers. The list of backups gets a revision of its own
    /// where it is another list, so that no app takes it for the one it knows.
    /// - Parameter replacing: whether networks that are stored may go.
    /// - Throws: `ImportError.notEmpty`, and what a commit throws; then nothing has changed.
    package func importState(_ imported: StoredState, replacing: Bool) throws(ImportError) {
        guard replacing || state.networks.isEmpty else { throw .notEmpty(networks: state.networkCount) }
        var new = imported
        new.pendingSwitch = nil
        new.replayCounters.merge(state.replayCounters, uniquingKeysWith: max)
        let newest = max(state.backupsRevision, imported.backupsRevision)
        let isKnown = state.backupsRevision == 0 || new.backups == state.backups
        // What cannot grow any more stays: no app has ever seen so many changes.
        new.backupsRevision = isKnown || newest == .max ? newest : newest + 1
        do { try commit(new) } catch { throw .store(error) }
    }
}

extension StoredState {
    /// How many names its networks have.
    package var networkCount: Int { Set(networks.map(\.ssid)).count }
}

/// Why an export was not imported.
package enum ImportError: Error, Equatable {
    /// The device has networks, which the import would replace.
    case notEmpty(networks: Int)
    case store(KeyFileError)
}

extension ImportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notEmpty(let count):
            "the key file holds \(count) \(count == 1 ? "network" : "networks"): give --replace to put the export in their "
                + "place"
        case .store(let error): "\(error)"
        }
    }
}
