import AgentModel

/// The device's connection: the answer to `network.get` and the body of `network.changed`.
public struct NetworkStatus: Sendable, Equatable {
    public var state: LinkState
    /// The carrier of the default route, nil while there is none.
    public var uplink: Uplink?
    /// The uplink underneath a tunnel (VPN), if it is known.
    public var carrier: Uplink?
    public var flags: NetworkFlags
    /// The Wi-Fi network that the device is in or is joining.
    public var ssid: SSID?
    public var bssid: BSSID?
    /// In dBm, of the Wi-Fi network; where a modem carries the traffic, of the modem.
    public var signal: Int?
    public var frequency: Frequency?
    /// The hash of that network, where it is a stored one.
    public var hash: NetworkHash?
    /// The interface's addresses in text form, without prefix lengths.
    public var addresses: [String]
    /// When `state` was entered.
    public var since: Timestamp
    /// How far the network leads; nil where the device does not look, as older ones do not.
    public var connectivity: Connectivity?
    /// How the device would move to another network; nil where that is not known, as older devices do not say.
    public var handover: Handover?
    /// The network that is joined beside the one in use, and takes its place when that is lost; nil where none does.
    public var standby: NetworkName?
    /// The modem that carries the traffic, or else another that the device has; nil where ModemManager tells of none.
    public var modem: ModemStatus?
    /// The radio's fault; nil where it has none, and from older devices.
    public var radio: RadioStatus?
    /// The device's own access point; nil where it has none, as older devices do not say.
    public var rescue: RescueStatus?

    public init(
        state: LinkState, uplink: Uplink?, carrier: Uplink? = nil, flags: NetworkFlags, ssid: SSID? = nil,
        bssid: BSSID? = nil,
        signal: Int? = nil, frequency: Frequency? = nil, hash: NetworkHash? = nil, addresses: [String] = [],
        since: Timestamp, connectivity: Connectivity? = nil, handover: Handover? = nil, standby: NetworkName? = nil,
        modem: ModemStatus? = nil, radio: RadioStatus? = nil, rescue: RescueStatus? = nil
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

    /// 0 to 100: of Wi-Fi from the signal, of a modem by ModemManager's measure.
    public var quality: Int? { carriedBy == .cellular ? modem?.quality : signal.map(SignalQuality.percent) }

    /// In dBm, of the Wi-Fi network alone.
    package var wifiSignal: Int? { carriedBy == .cellular ? nil : signal }

    /// What carries the traffic in the end: the uplink, or the one underneath a tunnel where it is known.
    public var carriedBy: Uplink? { carrier ?? uplink }

    /// Whether the device can do what it is there for, as far as it knows: over Wi-Fi or anything else.
    package var isConnected: Bool {
        guard state == .online || (carriedBy.map { $0 != .wifi } ?? false) else { return false }
        guard let connectivity, connectivity.checked != nil, let level = connectivity.level else { return true }
        return level >= connectivity.required
    }
}

/// How far the Wi-Fi link has come.
public enum LinkState: String, Sendable, CaseIterable, Codable {
    case offline
    case joining
    case waitingForAddress
    case online
}

/// The app's permissions: the `flags` of `network.get`.
public struct NetworkFlags: OptionSet, Sendable, Hashable, Codable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bit 0: `backups.update` is accepted.
    public static let canUpdateBackups = NetworkFlags(rawValue: 1 << 0)
    /// Bit 1: `network.switch` is accepted.
    public static let canSwitch = NetworkFlags(rawValue: 1 << 1)
    /// Bit 2: a switch is under way; another one is refused until it has ended.
    public static let switchInProgress = NetworkFlags(rawValue: 1 << 2)

    /// The flags by network type and state. The list can be changed over any uplink, for it is only stored. A switch
    /// needs the radio and makes sense only where Wi-Fi is what connects the device, or nothing does.
    /// - Parameter uplink: the one underneath all tunnels.
    public static func allowed(uplink: Uplink?, radioPresent: Bool, switchInProgress: Bool) -> NetworkFlags {
        var flags: NetworkFlags = .canUpdateBackups
        if switchInProgress {
            flags.insert(.switchInProgress)
        } else if radioPresent, uplink == nil || uplink == .wifi {
            flags.insert(.canSwitch)
        }
        return flags
    }
}

/// Signal strength as people read it.
public enum SignalQuality {
    /// 0 at -100 dBm and below, 100 at -50 dBm and above, linear between.
    public static func percent(signal: Int) -> Int { 2 * (min(max(signal, -100), -50) + 100) }
}

/// The newest measurement of the link: the body of `signal`.
public struct SignalReading: Sendable, Equatable {
    /// In dBm.
    public let signal: Int
    public let bssid: BSSID?
    public let frequency: Frequency?

    public init(signal: Int, bssid: BSSID? = nil, frequency: Frequency? = nil) {
        self.signal = signal
        self.bssid = bssid
        self.frequency = frequency
    }

    /// 0 to 100, from the signal.
    public var quality: Int { SignalQuality.percent(signal: signal) }
}

extension NetworkStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case state, network, uplink, carrier, flags, bssid, signal, quality, frequency, hash, addresses, since,
            connectivity, handover, standby, modem, radio, rescue
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
            rescue: try container.decodeIfPresent(RescueStatus.self, forKey: .rescue))
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
    }
}

extension Uplink {
    /// In a sentence.
    package var words: String {
        switch self {
        case .wifi: "Wi-Fi"
        case .wired: "a cable"
        case .cellular: "a cellular network"
        case .other: "another interface"
        }
    }

    /// The number that app SDKs give this network type, where they have one.
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
