import AgentModel
import Crypto

// Credentials of enterprise networks, in a kind of their own: an altnet that does not know it keeps its cells as they
// are. For that altnet the network has a password that nobody has chosen, and a floor that no access point offers, so
// it is never joined by it, and is whole again after the next upgrade.

/// The credential of the enterprise networks of one name.
struct EnterpriseCell: Hashable {
    let ssid: SSID
    let credential: EnterpriseCredential

    /// SSID, and the credential's bytes as the rest.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + EnterpriseCredential.encodedLength) { cell in
            cell.append(counted: ssid.bytes)
            credential.encoded.withBytes { cell.append($0) }
        }
    }

    init(ssid: SSID, credential: EnterpriseCredential) { (self.ssid, self.credential) = (ssid, credential) }

    /// - Returns: nil for a network with another credential.
    init?(_ network: StoredNetwork) {
        guard case .enterprise(let credential) = network.credential else { return nil }
        self.init(ssid: network.ssid, credential: credential)
    }

    init?(cell: Secret) {
        guard let content = cell.withBytes({ EnterpriseCell($0) }) else { return nil }
        self = content
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let name = reader.counted(), let ssid = try? SSID(bytes: name),
            let credential = EnterpriseCredential(
                encoded: UnsafeRawBufferPointer(rebasing: bytes.dropFirst(1 + name.count)))
        else { return nil }
        self.init(ssid: ssid, credential: credential)
    }

    static func == (left: Self, right: Self) -> Bool {
        left.ssid == right.ssid && left.credential == right.credential
    }

    func hash(into hasher: inout Hasher) { hasher.combine(ssid) }
}

extension EnterpriseCredential {
    /// SHA-256 of its bytes.
    var digest: Secret {
        encoded.withBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return hash.finalize().withUnsafeBytes { Secret($0) }
        }
    }

    /// Stands in its place in the cell of its network: what an altnet that does not know it takes for a password. The
    /// digits of half the digest are long enough to tell two apart, and short enough for every version.
    var standIn: JoinRequest.Credential {
        let digest = digest
        return .passphrase(Secret(text: digest.withBytes { Hex.string($0.prefix(16)) }), psk: digest)
    }
}

extension LinkProtection {
    /// Beside a stand-in on disk: a protection that there is none of, so that no link has it.
    fileprivate static let none = LinkProtection(rawValue: 0x80)
}

extension StoredNetwork {
    /// The same as its own cell has it.
    var withStandIn: StoredNetwork {
        guard case .enterprise(let credential) = credential else { return self }
        var network = self
        network.credential = credential.standIn
        network.floor.insert(.none)
        return network
    }

    /// Takes the credential in the place of its stand-in.
    fileprivate mutating func take(_ cell: EnterpriseCell, instead standIn: JoinRequest.Credential) {
        guard ssid == cell.ssid, floor.contains(.none), credential == standIn else { return }
        credential = .enterprise(cell.credential)
        floor.remove(.none)
    }
}

extension StoredState {
    /// The cells of the credentials of enterprise networks.
    func enterpriseCells(keepingSlotsOf old: Cells) -> Cells {
        let slots = Slots(
            of: networks.compactMap { EnterpriseCell($0) },
            keeping: old.values(of: .enterprise, EnterpriseCell.init(cell:)))
        return slots.values.reduce(into: [:]) { $0[CellID(.enterprise, slot: $1.key)] = $1.value.cell }
    }

    /// Puts credentials into the places of their stand-ins.
    mutating func readEnterprise(_ cells: Cells) {
        for (_, content) in cells.values(of: .enterprise, EnterpriseCell.init(cell:)).sorted(by: { $0.key < $1.key }) {
            let standIn = content.credential.standIn
            changeNetworks { $0.take(content, instead: standIn) }
        }
    }
}
