import AgentModel

extension PendingSwitch {
    /// Identifier, the slot of the target if it is stored, and the network that the device came from, empty for none.
    func cell(target: UInt8) -> Secret {
        Secret(upTo: 1 + StoredState.identifierLength.upperBound + 1 + 1 + SSID.maximumLength) { cell in
            cell.append(counted: id.utf8)
            cell.append(target)
            cell.append(counted: cameFrom?.bytes ?? [])
        }
    }

    init?(cell: Secret, _ networks: [UInt8: StoredNetwork]) {
        guard let pending = cell.withBytes({ PendingSwitch($0, networks) }) else { return nil }
        self = pending
    }

    private init?(_ bytes: UnsafeRawBufferPointer, _ networks: [UInt8: StoredNetwork]) {
        var reader = ByteReader(bytes)
        guard let id = reader.counted().flatMap({ String(validating: $0, as: UTF8.self) }),
            let slot = reader.integer(UInt8.self), slot == Slots<StoredNetwork>.none || networks[slot] != nil,
            let origin = reader.counted()
        else { return nil }
        self.init(id: id, target: networks[slot], cameFrom: try? SSID(bytes: origin))
    }
}
