import AgentModel

/// Where the device is connected: the answer to `network.get` and the body of `network.changed`.
public struct NetworkStatus: Sendable, Equatable {
    public var state: LinkState
    /// What carries the default route, nil while nothing does.
    public var uplink: Uplink?
    /// What is underneath, where the uplink is a tunnel (VPN) and that can be told.
    public var carrier: Uplink?
    public var flags: NetworkFlags
    /// The Wi-Fi network that the device is in or is joining.
    public var ssid: SSID?
    public var bssid: BSSID?
    /// In dBm.
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

    public init(
        state: LinkState, uplink: Uplink?, carrier: Uplink? = nil, flags: NetworkFlags, ssid: SSID? = nil,
        bssid: BSSID? = nil,
        signal: Int? = nil, frequency: Frequency? = nil, hash: NetworkHash? = nil, addresses: [String] = [],
        since: Timestamp, connectivity: Connectivity? = nil, handover: Handover? = nil
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
    }

    /// 0 to 100, from the signal.
    public var quality: Int? { signal.map(SignalQuality.percent) }
}

/// How far the Wi-Fi link has come.
public enum LinkState: String, Sendable, CaseIterable, Codable {
    case offline
    case joining
    case waitingForAddress
    case online
}

/// What the app may do now: the `flags` of `network.get`.
public struct NetworkFlags: OptionSet, Sendable, Hashable, Codable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bit 0: `backups.update` is accepted.
    public static let canUpdateBackups = NetworkFlags(rawValue: 1 << 0)
    /// Bit 1: `network.switch` is accepted.
    public static let canSwitch = NetworkFlags(rawValue: 1 << 1)
    /// Bit 2: a switch is under way; another one is refused until it has ended.
    public static let switchInProgress = NetworkFlags(rawValue: 1 << 2)

    /// The flags by network type and state. The list can be changed over any uplink, for it is only stored. A switch needs
    /// the radio and makes sense only where Wi-Fi is what connects the device, or nothing does.
    /// - Parameter uplink: what the traffic leaves the device by in the end, whatever tunnel it goes through.
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
