import AgentModel

extension StoredNetwork {
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let hidden = Flags(rawValue: 1)
        static let withPassphrase = Flags(rawValue: 2)
        /// Networks without a floor are stored as they were before there were floors.
        static let withFloor = Flags(rawValue: 4)
    }

    /// Flags, security, the security floor where there is one, SSID, and where there is a passphrase: passphrase and derived
    /// key.
    var cell: Secret {
        Secret(upTo: 3 + 1 + SSID.maximumLength + 1 + Passphrase.allowedLength.upperBound + StoredState.pskLength) {
            cell in
            var flags: Flags = isHidden ? .hidden : []
            if credential != .none { flags.insert(.withPassphrase) }
            if !floor.isEmpty { flags.insert(.withFloor) }
            cell.append(flags.rawValue)
            cell.append(security?.code ?? 0)
            if !floor.isEmpty { cell.append(floor.rawValue) }
            cell.append(counted: ssid.bytes)
            guard case .passphrase(let passphrase, let psk) = credential else { return }
            passphrase.withBytes { cell.append(counted: $0) }
            psk.withBytes { cell.append($0) }
        }
    }

    init?(cell: Secret) {
        guard let network = cell.withBytes({ StoredNetwork($0) }) else { return nil }
        self = network
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let flags = reader.integer(UInt8.self).map(Flags.init), let code = reader.integer(UInt8.self),
            let floor = flags.contains(.withFloor) ? reader.integer(UInt8.self) : 0,
            let name = reader.counted(), let ssid = try? SSID(bytes: name)
        else { return nil }
        var credential = JoinRequest.Credential.none
        if flags.contains(.withPassphrase) {
            guard let passphrase = reader.counted(), let psk = reader.bytes(StoredState.pskLength) else { return nil }
            credential = .passphrase(Secret(passphrase), psk: Secret(psk))
        }
        self.init(
            ssid: ssid, credential: credential, security: Security(code: code),
            floor: LinkProtection(rawValue: floor), isHidden: flags.contains(.hidden))
    }
}

extension Security {
    /// Stands for it on disk, so it stays. 0 says that it is not known.
    var code: UInt8 {
        switch self {
        case .open: 1
        case .owe: 2
        case .wpa2: 3
        case .wpa3: 4
        case .wpa2wpa3: 5
        case .enterprise: 6
        case .wep: 7
        case .unknown: 8
        case .legacy: 9
        }
    }

    init?(code: UInt8) {
        guard let security = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = security
    }
}
