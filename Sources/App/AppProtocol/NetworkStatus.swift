import AgentModel

/// The device's connection: answer to `network.get`, body of `network.changed`.
public struct NetworkStatus: Sendable, Equatable {
    public var state: LinkState
    /// Uplink with the default route; nil without one.
    public var uplink: Uplink?
    /// The uplink below a tunnel (VPN), if known.
    public var carrier: Uplink?
    public var flags: NetworkFlags
    /// Wi-Fi network that the device is in or joins.
    public var ssid: SSID?
    public var bssid: BSSID?
    /// Wi-Fi signal in dBm, or the modem's signal if the modem carries the traffic.
    public var signal: Int?
    public var frequency: Frequency?
    /// The hash of the Wi-Fi network; nil if it is not stored.
    public var hash: NetworkHash?
    /// The interface's addresses without prefix lengths.
    public var addresses: [String]
    public var since: Timestamp
    /// Connectivity of the network; nil from a device without this check.
    public var connectivity: Connectivity?
    /// How the device moves to another network; nil if unknown.
    public var handover: Handover?
    /// A second joined network that takes over after a loss; nil if none.
    public var standby: NetworkName?
    /// The modem that carries the traffic, otherwise any other modem; nil without a modem or ModemManager.
    public var modem: ModemStatus?
    /// Fault of the radio; nil if there is none, or from an older device.
    public var radio: RadioStatus?
    /// State of the setup access point; nil if there is none, or from an older device.
    public var rescue: SetupAccessPointStatus?
    /// Stored networks whose access points in range are all refused.
    public var refused: [RefusedNetwork] = []
    /// Whether traffic over the current uplink is limited or paid by volume. Checks and keep-alives are rarer then.
    public var isMetered = false
    /// Name of the device; nil without one, or from an older device.
    public var deviceName: DeviceName?

    public init(
        state: LinkState, uplink: Uplink?, carrier: Uplink? = nil, flags: NetworkFlags, ssid: SSID? = nil,
        bssid: BSSID? = nil,
        signal: Int? = nil, frequency: Frequency? = nil, hash: NetworkHash? = nil, addresses: [String] = [],
        since: Timestamp, connectivity: Connectivity? = nil, handover: Handover? = nil, standby: NetworkName? = nil,
        modem: ModemStatus? = nil, radio: RadioStatus? = nil, rescue: SetupAccessPointStatus? = nil
    ) {
        self.state = state
        self.uplink = uplink
        self.carrier = carrier
        self.flags = flags
        self.ssid = ssid
        self.bssid = bssid
        self.signal = signal
        self.frequency = frequency
        self.hash = hash
        self.addresses = addresses
        self.since = since
        self.connectivity = connectivity
        self.handover = handover
        self.standby = standby
        self.modem = modem
        self.radio = radio
        self.rescue = rescue
    }

    /// Quality from 0 to 100: computed from the Wi-Fi signal, or ModemManager's value for a modem.
    public var quality: Int? { carriedBy == .cellular ? modem?.quality : signal.map(SignalQuality.percent) }

    /// Wi-Fi signal in dBm; nil while a modem carries the traffic.
    package var wifiSignal: Int? { carriedBy == .cellular ? nil : signal }

    /// The uplink below a tunnel if known, otherwise the uplink.
    public var carriedBy: Uplink? { carrier ?? uplink }

    /// Whether the device is online over any uplink, at the required level. Levels that were not checked count as
    /// reached.
    package var isConnected: Bool {
        guard state == .online || (carriedBy.map { $0 != .wifi } ?? false) else { return false }
        guard let connectivity, connectivity.checked != nil, let level = connectivity.level else { return true }
        return level >= connectivity.required
    }
}

/// State of the Wi-Fi link.
public enum LinkState: String, Sendable, CaseIterable, Codable {
    case offline
    case joining
    case waitingForAddress
    case online
}

/// Requests that the device accepts in its current state: the `flags` of `network.get`.
public struct NetworkFlags: OptionSet, Sendable, Hashable, Codable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bit 0: `backups.update` is accepted.
    public static let canUpdateBackups = NetworkFlags(rawValue: 1 << 0)
    /// Bit 1: `network.switch` is accepted.
    public static let canSwitch = NetworkFlags(rawValue: 1 << 1)
    /// Bit 2: a switch is running, so another one is refused.
    public static let switchInProgress = NetworkFlags(rawValue: 1 << 2)

    /// Returns the flags for a state. An update needs a writable store. A switch needs a radio, and the uplink must be
    /// Wi-Fi or missing.
    /// - Parameter uplink: the uplink below all tunnels.
    public static func allowed(
        uplink: Uplink?, radioPresent: Bool, switchInProgress: Bool, isStoreWritable: Bool = true
    ) -> NetworkFlags {
        var flags: NetworkFlags = isStoreWritable ? .canUpdateBackups : []
        if switchInProgress {
            flags.insert(.switchInProgress)
        } else if radioPresent, uplink == nil || uplink == .wifi {
            flags.insert(.canSwitch)
        }
        return flags
    }
}

/// Conversion of a signal to a quality.
public enum SignalQuality {
    /// Returns 0 at -100 dBm and below, 100 at -50 dBm and above, linear between.
    public static func percent(signal: Int) -> Int { 2 * (min(max(signal, -100), -50) + 100) }
}

/// Body of the event `signal`.
public struct SignalReading: Sendable, Equatable {
    /// Signal in dBm.
    public let signal: Int
    public let bssid: BSSID?
    public let frequency: Frequency?

    public init(signal: Int, bssid: BSSID? = nil, frequency: Frequency? = nil) {
        self.signal = signal
        self.bssid = bssid
        self.frequency = frequency
    }

    /// Quality from 0 to 100, computed from the signal.
    public var quality: Int { SignalQuality.percent(signal: signal) }
}

extension NetworkStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case state, network, uplink, carrier, flags, bssid, signal, quality, frequency, hash, addresses, since,
            connectivity, handover, standby, modem, radio, rescue, refused, deviceName
        case isMetered = "metered"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            state: try container.decode(LinkState.self, forKey: .state),
            uplink: try container.decodeIfPresent(Uplink.self, forKey: .uplink),
            carrier: try container.decodeIfPresent(Uplink.self, forKey: .carrier),
            flags: try container.decode(NetworkFlags.self, forKey: .flags),
            ssid: try decoder.ssidIfPresent(),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            signal: try container.decodeIfPresent(Int.self, forKey: .signal),
            frequency: try container.decodeIfPresent(Frequency.self, forKey: .frequency),
            hash: try container.decodeIfPresent(NetworkHash.self, forKey: .hash),
            addresses: try container.decodeIfPresent([String].self, forKey: .addresses) ?? [],
            since: try container.decode(Timestamp.self, forKey: .since),
            connectivity: try container.decodeIfPresent(Connectivity.self, forKey: .connectivity),
            handover: try container.decodeIfPresent(Handover.self, forKey: .handover),
            standby: try container.decodeIfPresent(NetworkName.self, forKey: .standby),
            modem: try container.decodeIfPresent(ModemStatus.self, forKey: .modem),
            radio: try container.decodeIfPresent(RadioStatus.self, forKey: .radio),
            rescue: try container.decodeIfPresent(SetupAccessPointStatus.self, forKey: .rescue))
        refused = try container.decodeIfPresent([RefusedNetwork].self, forKey: .refused) ?? []
        isMetered = try container.decodeIfPresent(Bool.self, forKey: .isMetered) ?? false
        deviceName = try container.decodeIfPresent(DeviceName.self, forKey: .deviceName)
    }

    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(ssid)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(carriedBy?.networkType, forKey: .network)
        try container.encodeIfPresent(uplink, forKey: .uplink)
        try container.encodeIfPresent(carrier, forKey: .carrier)
        try container.encode(flags, forKey: .flags)
        try container.encodeIfPresent(bssid, forKey: .bssid)
        try container.encodeIfPresent(signal, forKey: .signal)
        try container.encodeIfPresent(quality, forKey: .quality)
        try container.encodeIfPresent(frequency, forKey: .frequency)
        try container.encodeIfPresent(hash, forKey: .hash)
        try container.encode(addresses, forKey: .addresses)
        try container.encode(since, forKey: .since)
        try container.encodeIfPresent(connectivity, forKey: .connectivity)
        try container.encodeIfPresent(handover, forKey: .handover)
        try container.encodeIfPresent(standby, forKey: .standby)
        try container.encodeIfPresent(modem, forKey: .modem)
        try container.encodeIfPresent(radio, forKey: .radio)
        try container.encodeIfPresent(rescue, forKey: .rescue)
        if !refused.isEmpty { try container.encode(refused, forKey: .refused) }
        if isMetered { try container.encode(isMetered, forKey: .isMetered) }
        try container.encodeIfPresent(deviceName, forKey: .deviceName)
    }
}

extension Uplink {
    package var words: String {
        switch self {
        case .wifi: "Wi-Fi"
        case .wired: "a cable"
        case .cellular: "a cellular network"
        case .other: "another interface"
        }
    }

    /// Value of the member `network`, as numbered in app SDKs; nil for an uplink without a number.
    package var networkType: Int? {
        switch self {
        case .wifi: 0
        case .wired: 1
        case .cellular: 2
        case .other: nil
        }
    }
}

extension SignalReading: Codable {
    private enum CodingKeys: String, CodingKey {
        case signal, quality, bssid, frequency
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            signal: try container.decode(Int.self, forKey: .signal),
            bssid: try container.decodeIfPresent(BSSID.self, forKey: .bssid),
            frequency: try container.decodeIfPresent(Frequency.self, forKey: .frequency))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(signal, forKey: .signal)
        try container.encode(quality, forKey: .quality)
        try container.encodeIfPresent(bssid, forKey: .bssid)
        try container.encodeIfPresent(frequency, forKey: .frequency)
    }
}
