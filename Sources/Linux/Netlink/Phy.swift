import AgentModel

/// What a radio can do (`NL80211_CMD_GET_WIPHY`).
public struct Phy: Hashable, Sendable {
    public internal(set) var index: Int
    public internal(set) var name: String
    /// Every channel of every band, those included that may not be used now.
    public internal(set) var channels: [Channel]
    /// The most SSIDs that one scan can ask for, the wildcard included.
    public internal(set) var maximumScanSSIDs: Int
    public internal(set) var signalThresholds: SignalThresholds
    /// Which interfaces can exist at the same time, one entry for each alternative.
    public internal(set) var combinations: [InterfaceCombination]

    /// One channel and what the regulatory domain allows on it.
    public struct Channel: Hashable, Sendable {
        public let frequency: Frequency
        /// Not to be used at all.
        public let isDisabled: Bool
        /// Not to be transmitted on before somebody else does ("no initiating radiation"): scans there only listen.
        public let isPassive: Bool
        /// Shared with radar.
        public let isRadar: Bool
    }

    /// How much of the kernel's signal supervision (CQM) the radio supports.
    public enum SignalThresholds: Hashable, Sendable {
        /// A single threshold may be supported or not: the driver alone knows.
        case oneAtMost
        /// Any number of thresholds at once.
        case many
    }

    /// One set of interfaces that the radio carries at the same time.
    public struct InterfaceCombination: Hashable, Sendable {
        public let limits: [Limit]
        /// The most interfaces in all.
        public let maximumInterfaces: Int
        /// The most channels on which they can be.
        public let channels: Int

        /// The most interfaces out of a set of types.
        public struct Limit: Hashable, Sendable {
            public let maximum: Int
            public let allowsStations: Bool
        }
    }

    /// Channels that may be used now.
    public var usableChannels: [Channel] { channels.filter { !$0.isDisabled } }

    /// Where a look at every channel goes; empty where that is simply all that may be used. A radio that can do IEEE 802.11ah as
    /// well has most of its channels below 1 GHz, as many as 51 in the US, and wpa_supplicant joins nothing there.
    var worthScanning: [Frequency] {
        let isMixed = usableChannels.contains { $0.frequency < Self.lowest }
        return isMixed ? usableChannels.map(\.frequency).filter { $0 >= Self.lowest } : []
    }

    private static let lowest = Frequency(megahertz: 2000)

    public var bands: Set<Band> { Set(usableChannels.map(\.frequency.band)) }

    /// The most links to different access points at a time, and on how many channels: 2 and 2 or more allow joining the
    /// next network before leaving the present one.
    public var stationConcurrency: (links: Int, channels: Int) {
        combinations.map { combination in
            let stations = combination.limits.filter(\.allowsStations).map(\.maximum).reduce(0, +)
            return (links: min(stations, combination.maximumInterfaces), channels: combination.channels)
        }
        .max { ($0.links, $0.channels) < ($1.links, $1.channels) } ?? (links: 1, channels: 1)
    }
}
