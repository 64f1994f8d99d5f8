import AgentModel

extension StoredNetwork: CellContent {
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let hidden = Flags(rawValue: 1)
        static let withPassphrase = Flags(rawValue: 2)
        /// Flag of a cell with a minimum security. Without one, the cell has the original format.
        static let withMinimumSecurity = Flags(rawValue: 4)
    }

    /// Encodes flags, security, optional minimum security, SSID, and optional passphrase with derived key.
    var cell: Secret {
        Secret(upTo: 3 + 1 + SSID.maximumLength + 1 + Passphrase.saeLength.upperBound + StoredState.pskLength) { cell in
            var flags: Flags = isHidden ? .hidden : []
            if credential != .none { flags.insert(.withPassphrase) }
            if !minimumSecurity.isEmpty { flags.insert(.withMinimumSecurity) }
            cell.append(flags.rawValue)
            cell.append(security?.code ?? 0)
            if !minimumSecurity.isEmpty { cell.append(minimumSecurity.rawValue) }
            cell.append(counted: ssid.bytes)
            guard case .passphrase(let passphrase, let psk) = credential else { return }
            passphrase.withBytes { cell.append(counted: $0) }
            psk.withBytes { cell.append($0) }
        }
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let flags = reader.integer(UInt8.self).map(Flags.init), let code = reader.integer(UInt8.self),
            let minimumSecurity = flags.contains(.withMinimumSecurity) ? reader.integer(UInt8.self) : 0,
            let name = reader.counted(), let ssid = try? SSID(bytes: name)
        else { return nil }
        var credential = JoinRequest.Credential.none
        if flags.contains(.withPassphrase) {
            guard let passphrase = reader.counted(), let psk = reader.bytes(StoredState.pskLength) else { return nil }
            credential = .passphrase(Secret(passphrase), psk: Secret(psk))
        }
        self.init(
            ssid: ssid, credential: credential, security: Security(code: code),
            minimumSecurity: LinkProtection(rawValue: minimumSecurity), isHidden: flags.contains(.hidden))
    }
}

extension Security {
    /// Code of the security on disk, which must not change. 0 means unknown.
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

extension NetworkStatistics: CellContent {
    private struct Parts: OptionSet {
        let rawValue: UInt8
        static let seen = Parts(rawValue: 1)
        static let signal = Parts(rawValue: 2)
        static let frequency = Parts(rawValue: 4)
        static let failure = Parts(rawValue: 8)
        static let verifiedAccessPoints = Parts(rawValue: 16)
    }

    /// Encodes flags for present parts, then the parts.
    var cell: Secret {
        Secret(upTo: 1 + 4 + 1 + 2 + 1 + 1 + Self.maximumAccessPoints * 6) { cell in
            var parts: Parts = []
            if lastSeen != nil { parts.insert(.seen) }
            if lastSignal != nil { parts.insert(.signal) }
            if lastFrequency != nil { parts.insert(.frequency) }
            if lastFailure != nil { parts.insert(.failure) }
            if !verifiedAccessPoints.isEmpty { parts.insert(.verifiedAccessPoints) }
            cell.append(parts.rawValue)
            if let lastSeen { cell.append(bigEndian: lastSeen) }
            if let lastSignal { cell.append(UInt8(bitPattern: lastSignal)) }
            if let lastFrequency { cell.append(bigEndian: UInt16(clamping: lastFrequency.megahertz)) }
            if let lastFailure { cell.append(lastFailure.code) }
            if !verifiedAccessPoints.isEmpty { cell.append(counted: verifiedAccessPoints.flatMap(\.bytes)) }
        }
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        self.init()
        var reader = ByteReader(bytes)
        guard let parts = reader.integer(UInt8.self).map(Parts.init) else { return nil }
        if parts.contains(.seen) { lastSeen = reader.integer(UInt32.self) }
        if parts.contains(.signal) { lastSignal = reader.integer(UInt8.self).map { Int8(bitPattern: $0) } }
        if parts.contains(.frequency) {
            lastFrequency = reader.integer(UInt16.self).map { Frequency(megahertz: Int($0)) }
        }
        if parts.contains(.failure) { lastFailure = reader.integer(UInt8.self).flatMap(JoinFailure.init) }
        if parts.contains(.verifiedAccessPoints), let bytes = reader.counted(),
            bytes.count <= Self.maximumAccessPoints * 6
        {
            verifiedAccessPoints = BSSID.list(bytes)
        }
    }

    /// A copy without the parts that have their own cells; nil if it would be empty.
    var withoutOwnCells: NetworkStatistics? {
        var statistics = self
        (statistics.lease, statistics.learnedMinimumSecurity) = (nil, nil)
        return statistics == NetworkStatistics() ? nil : statistics
    }

    /// A copy without impossible frequencies and without excess or duplicate access points; nil if empty. Replaces a
    /// failure that older versions do not know by a similar one.
    var normalised: NetworkStatistics? {
        var statistics = self
        if let megahertz = lastFrequency?.megahertz, !(1...Int(UInt16.max)).contains(megahertz) {
            statistics.lastFrequency = nil
        }
        if lastFailure == .certificateRefused { statistics.lastFailure = .rejected }
        statistics.verifiedAccessPoints = []
        for bssid in verifiedAccessPoints where !statistics.verifiedAccessPoints.contains(bssid) {
            guard statistics.verifiedAccessPoints.count < Self.maximumAccessPoints else { break }
            statistics.verifiedAccessPoints.append(bssid)
        }
        return statistics == NetworkStatistics() ? nil : statistics
    }
}

extension JoinFailure {
    /// Code of the failure on disk, which must not change.
    var code: UInt8 {
        switch self {
        case .wrongKey: 1
        case .accessPointFull: 2
        case .notFound: 3
        // Older versions reject a file with an unknown code, so these failures share one.
        case .rejected, .certificateRefused: 4
        case .timeout: 5
        case .linkLost: 6
        case .noAddress: 7
        case .supplicantUnavailable: 8
        case .interfaceDown: 9
        case .captive: 10
        case .noInternet: 11
        case .unconfirmed: 12
        case .interrupted: 13
        case .lessSecure: 14
        case .unsupportedSecurity: 15
        }
    }

    init?(code: UInt8) {
        guard let failure = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = failure
    }
}
