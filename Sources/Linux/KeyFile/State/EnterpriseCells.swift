import AgentModel
import Crypto

// Enterprise credentials have their own cell kind, which an older altnet keeps unread. An older altnet never joins such
// a network: it sees a stand-in password, and a minimum security that no access point offers.

/// Credential shared by all enterprise networks of an SSID.
struct EnterpriseCell: Hashable, CellContent {
    let ssid: SSID
    let credential: EnterpriseCredential

    /// Encodes SSID and credential.
    var cell: Secret {
        Secret(upTo: 1 + SSID.maximumLength + EnterpriseCredential.encodedLength) { cell in
            cell.append(counted: ssid.bytes)
            credential.encoded.withBytes { cell.append($0) }
        }
    }

    init(ssid: SSID, credential: EnterpriseCredential) { (self.ssid, self.credential) = (ssid, credential) }

    init?(_ network: StoredNetwork) {
        guard case .enterprise(let credential) = network.credential else { return nil }
        self.init(ssid: network.ssid, credential: credential)
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
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
    /// SHA-256 of the encoded credential.
    var digest: Secret {
        encoded.withBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return hash.finalize().withUnsafeBytes { Secret($0) }
        }
    }

    /// Password that replaces the credential in the network's cell, for an older altnet: 32 hexadecimal digits of the
    /// digest. Unique, and short enough for all versions.
    var standIn: JoinRequest.Credential {
        let digest = digest
        return .passphrase(Secret(text: digest.withBytes { Hex.string($0.prefix(16)) }), psk: digest)
    }
}

extension LinkProtection {
    /// Minimum security that marks a stand-in. No link can offer it.
    fileprivate static let none = LinkProtection(rawValue: 0x80)
}

extension StoredNetwork {
    /// A copy in which the stand-in replaces the enterprise credential.
    var withStandIn: StoredNetwork {
        guard case .enterprise(let credential) = credential else { return self }
        var network = self
        network.credential = credential.standIn
        network.minimumSecurity.insert(.none)
        return network
    }

    /// Replaces the stand-in by the cell's credential.
    fileprivate mutating func restore(_ cell: EnterpriseCell, instead standIn: JoinRequest.Credential) {
        guard ssid == cell.ssid, minimumSecurity.contains(.none), credential == standIn else { return }
        credential = .enterprise(cell.credential)
        minimumSecurity.remove(.none)
    }
}

extension StoredState {
    func enterpriseCells(keepingSlotsOf old: Cells) -> Cells {
        let slots = Slots(
            of: networks.compactMap { EnterpriseCell($0) },
            keeping: old.values(of: .enterprise, EnterpriseCell.init(cell:)))
        return slots.values.reduce(into: [:]) { $0[CellID(.enterprise, slot: $1.key)] = $1.value.cell }
    }

    /// Replaces all stand-ins by their credentials.
    mutating func readEnterprise(_ cells: Cells) {
        for (_, content) in cells.values(of: .enterprise, EnterpriseCell.init(cell:)).sorted(by: { $0.key < $1.key }) {
            let standIn = content.credential.standIn
            changeNetworks { $0.restore(content, instead: standIn) }
        }
    }
}
