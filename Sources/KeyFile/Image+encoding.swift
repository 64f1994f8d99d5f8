import AgentModel

extension Image {
    /// The file's bytes. The state must be valid.
    func encoded() -> WipedBuffer {
        var body = WipedBuffer(capacity: Self.maximumSize)
        body.append(state)
        var file = WipedBuffer(capacity: Self.maximumSize)
        file.append(Self.magic)
        file.append(bigEndian: Self.version)
        file.append(bigEndian: UInt16(0))
        file.append(bigEndian: file.withBytes { CRC32.checksum($0) })
        file.append(bigEndian: generation)
        file.append(bigEndian: UInt32(body.count))
        body.withBytes { file.append($0) }
        file.append(bigEndian: file.withBytes { CRC32.checksum($0.dropFirst(Self.prologueSize)) })
        return file
    }
}

extension WipedBuffer {
    fileprivate mutating func append(_ state: StoredState) {
        append(bigEndian: state.backupsRevision)
        append(
            (state.home == nil ? 0 : Image.StateFlag.home)
                | (state.chosen == nil ? 0 : Image.StateFlag.chosen)
                | (state.pendingSwitch == nil ? 0 : Image.StateFlag.pendingSwitch))
        if let home = state.home { append(home) }
        if let chosen = state.chosen { append(chosen) }
        append(UInt8(state.backups.count))
        for backup in state.backups { append(backup) }
        if let pending = state.pendingSwitch { append(pending) }
    }

    private mutating func append(_ network: StoredNetwork) {
        appendCounted(network.ssid.bytes)
        let hidden = network.isHidden ? Image.NetworkFlag.hidden : 0
        switch network.credential {
        case .none: append(hidden)
        case .passphrase(let passphrase, let psk):
            append(hidden | Image.NetworkFlag.passphrase)
            passphrase.withBytes { appendCounted($0) }
            psk.withBytes { append($0) }
        }
    }

    private mutating func append(_ pending: PendingSwitch) {
        appendCounted(Array(pending.id.utf8))
        append(pending.target)
        appendCounted(pending.cameFrom?.bytes ?? [])
    }

    private mutating func appendCounted(_ bytes: some Collection<UInt8>) {
        append(UInt8(bytes.count))
        append(bytes)
    }
}
