import AgentModel

extension StoredState {
    /// The bytes that a switch's identifier may have in UTF-8.
    static let identifierLength = 0...64
    /// The bytes of a derived pre-shared key (IEEE 802.11-2020, annex J.4.1).
    static let pskLength = 32

    /// Checks what must be true of any state, whatever the settings.
    func validate() throws(KeyFileError) {
        var seen: Set<SSID> = []
        for backup in backups where !seen.insert(backup.ssid).inserted { throw .duplicateBackup(backup.ssid) }
        for network in networks { try network.validate() }
        if let count = pendingSwitch?.id.utf8.count, !Self.identifierLength.contains(count) {
            throw .switchIdentifierTooLong(bytes: count)
        }
    }
}

extension StoredNetwork {
    fileprivate func validate() throws(KeyFileError) {
        guard case .passphrase(let passphrase, let psk) = credential else { return }
        do { try Passphrase.validate(passphrase) } catch { throw .invalidPassphrase(ssid, error) }
        guard psk.count == StoredState.pskLength else { throw .invalidKey(ssid, bytes: psk.count) }
    }
}
