import AgentModel

extension StoredState {
    /// The bytes that a switch's identifier may have in UTF-8.
    static let identifierLength = 0...64
    /// The bytes of a derived pre-shared key (IEEE 802.11-2020, annex J.4.1).
    static let pskLength = 32
    /// The bytes that the name of a sender's counter may have in UTF-8.
    static let counterNameLength = 1...32
    static let maximumCounters = 8

    /// Checks what must be true of any state, whatever the settings.
    func validate() throws(KeyFileError) {
        var seen: Set<SSID> = []
        for backup in backups where !seen.insert(backup.ssid).inserted { throw .duplicateBackup(backup.ssid) }
        for network in networks { try network.validate() }
        if let count = pendingSwitch?.id.utf8.count, !Self.identifierLength.contains(count) {
            throw .switchIdentifierTooLong(bytes: count)
        }
        guard replayCounters.count <= Self.maximumCounters else {
            throw .tooManyCounters(count: replayCounters.count, maximum: Self.maximumCounters)
        }
        guard replayCounters.keys.allSatisfy({ Self.counterNameLength.contains($0.utf8.count) }) else {
            throw .invalidCounterName
        }
    }

    /// Checks also what must be true of a state that follows `old`. A counter may go, together with its sender, but not
    /// back.
    func validate(replacing old: StoredState) throws(KeyFileError) {
        try validate()
        let back = old.replayCounters.filter { name, last in replayCounters[name].map { $0 < last } ?? false }
        if let name = back.keys.min() { throw .counterWouldGoBack(name: name) }
    }
}

extension StoredNetwork {
    fileprivate func validate() throws(KeyFileError) {
        guard case .passphrase(let passphrase, let psk) = credential else { return }
        do { try Passphrase.validate(passphrase) } catch { throw .invalidPassphrase(ssid, error) }
        guard psk.count == StoredState.pskLength else { throw .invalidKey(ssid, bytes: psk.count) }
    }
}
