import AgentModel

extension NetworkStatistics {
    private struct Parts: OptionSet {
        let rawValue: UInt8
        static let seen = Parts(rawValue: 1)
        static let signal = Parts(rawValue: 2)
        static let frequency = Parts(rawValue: 4)
        static let failure = Parts(rawValue: 8)
        static let provenAccessPoints = Parts(rawValue: 16)
    }

    /// Which parts there are, and then those.
    var cell: Secret {
        Secret(upTo: 1 + 4 + 1 + 2 + 1 + 1 + Self.maximumAccessPoints * 6) { cell in
            var parts: Parts = []
            if lastSeen != nil { parts.insert(.seen) }
            if lastSignal != nil { parts.insert(.signal) }
            if lastFrequency != nil { parts.insert(.frequency) }
            if lastFailure != nil { parts.insert(.failure) }
            if !provenAccessPoints.isEmpty { parts.insert(.provenAccessPoints) }
            cell.append(parts.rawValue)
            if let lastSeen { cell.append(bigEndian: lastSeen) }
            if let lastSignal { cell.append(UInt8(bitPattern: lastSignal)) }
            if let lastFrequency { cell.append(bigEndian: UInt16(clamping: lastFrequency.megahertz)) }
            if let lastFailure { cell.append(lastFailure.code) }
            if !provenAccessPoints.isEmpty { cell.append(counted: provenAccessPoints.flatMap(\.bytes)) }
        }
    }

    init?(cell: Secret) {
        guard let statistics = cell.withBytes({ NetworkStatistics($0) }) else { return nil }
        self = statistics
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        self.init()
        var reader = ByteReader(bytes)
        guard let parts = reader.integer(UInt8.self).map(Parts.init) else { return nil }
        if parts.contains(.seen) { lastSeen = reader.integer(UInt32.self) }
        if parts.contains(.signal) { lastSignal = reader.integer(UInt8.self).map { Int8(bitPattern: $0) } }
        if parts.contains(.frequency) {
            lastFrequency = reader.integer(UInt16.self).map { Frequency(megahertz: Int($0)) }
        }
        if parts.contains(.failure) { lastFailure = reader.integer(UInt8.self).flatMap(JoinFailure.init) }
        if parts.contains(.provenAccessPoints), let bytes = reader.counted(),
            bytes.count <= Self.maximumAccessPoints * 6
        {
            provenAccessPoints = BSSID.list(bytes)
        }
    }

    /// Without a frequency that no radio reports, and without access points that are too many or there twice; nil where nothing
    /// is left.
    var normalised: NetworkStatistics? {
        var statistics = self
        if let megahertz = lastFrequency?.megahertz, !(1...Int(UInt16.max)).contains(megahertz) {
            statistics.lastFrequency = nil
        }
        statistics.provenAccessPoints = []
        for bssid in provenAccessPoints where !statistics.provenAccessPoints.contains(bssid) {
            guard statistics.provenAccessPoints.count < Self.maximumAccessPoints else { break }
            statistics.provenAccessPoints.append(bssid)
        }
        return statistics == NetworkStatistics() ? nil : statistics
    }
}

extension JoinFailure {
    /// Stands for it on disk, so it stays.
    var code: UInt8 {
        switch self {
        case .wrongKey: 1
        case .accessPointFull: 2
        case .notFound: 3
        case .rejected: 4
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
