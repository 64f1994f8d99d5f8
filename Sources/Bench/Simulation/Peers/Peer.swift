import AgentModel

/// Another connection manager, for comparison with altnet: its decisions and the timing of its components.
public struct Peer: Sendable {
    public let name: String
    public let model: PeerModel
    /// Time of the peer's DHCP client in addition to the access point's `addressTime`.
    let extraAddressTime: Duration

    public static let all = [wpaSupplicant, networkManager, iwd, strongest, espHome]

    public var timing: StackTiming {
        var timing = StackTiming()
        timing.extraAddressTime = extraAddressTime
        timing.lossDetection = StackTiming.kernelsLossDetection
        return timing
    }

    public func makePolicy() -> PeerPolicy { PeerPolicy(model: model) }
}

/// Differences between connection managers that affect their decisions.
public struct PeerModel: Sendable, Hashable {
    public var preference: Preference
    /// Whether access points from the kernel's list (30 s) count. If false, only results of the last scan count.
    public var trustsMemory = false
    /// Whether the first scans cover only channels of known networks.
    public var looksWhereItKnows = false
    /// Wait after a loss before the first scan.
    public var afterLoss = Duration.zero
    /// Time after a loss in which the peer searches only the lost network.
    public var loyalty = Duration.zero
    /// Waits after scans without a candidate. The last wait repeats.
    public var scanWaits: [Duration]
    public var afterFailure: AfterFailure
    /// Times for which the peer ignores a network after each consecutive refusal of the key; nil for ever.
    public var wrongKeyBlocks: [Duration?] = []
    /// Times for which the peer ignores an access point after each other consecutive failure; nil for ever. The peer
    /// tries ignored access points if it has no others.
    public var failureBlocks: [Duration?] = []
    /// Time limit for a join, until the access point accepts the device.
    public var joinLimit: Duration
    /// Time limit for an address after the join; nil for no limit.
    public var addressLimit: Duration?
    /// Search for a better access point on a working link; nil if the peer never leaves a working link.
    public var roaming: Roaming?

    public enum Preference: Sendable, Hashable {
        case signal
        case priorityThenSignal
        case priorityThenRecency
        case signalTimesRecency
    }

    public enum AfterFailure: Sendable, Hashable {
        /// Tries the next best access point of the same scan. Scans again after the last access point.
        case nextCandidate
        /// Scans again after a wait. Each consecutive failure takes the next wait; the last wait repeats.
        case scan(waits: [Duration])
    }

    /// Search for a better access point on a working link.
    public struct Roaming: Sendable, Hashable {
        /// Signal on 2.4 GHz below which the peer searches, in dBm.
        public var belowTwoPointFour: Int
        /// Signal on other bands below which the peer searches, in dBm.
        public var belowFive: Int
        public var every: Duration
        /// Minimum improvement of the signal, in dB.
        public var gain: Int
        /// Maximum number of searches per link.
        public var attempts: Int = .max
        public var crossesNetworks = false

        func threshold(for frequency: Frequency?) -> Int {
            frequency.map { $0.band != .twoPointFour } ?? false ? belowFive : belowTwoPointFour
        }
    }
}

extension [Duration] {
    /// Returns the wait after `count` earlier waits. The last wait repeats.
    func wait(after count: Int) -> Duration { self[Swift.min(count, self.count - 1)] }
}

extension Peer {
    /// ESPHome's wifi component, on the same radio as the other peers.
    ///
    /// - Scans, sorts access points by priority and signal, and tries the first twice. Then lowers its priority
    ///   permanently, and scans again after 0.5 s (comments at the head of
    ///   esphome/components/wifi/wifi_component.cpp). A wrong key is an ordinary failure.
    /// - On a link below -49 dBm, searches every 5 min, at most three times per link, for an access point of the same
    ///   network that is 10 dB stronger (`ROAMING_CHECK_INTERVAL`, `ROAMING_MIN_IMPROVEMENT`, `ROAMING_GOOD_RSSI`).
    static let espHome = Peer(
        name: "ESPHome",
        model: PeerModel(
            preference: .priorityThenSignal, afterLoss: .milliseconds(500),
            scanWaits: [.milliseconds(500)], afterFailure: .scan(waits: [.milliseconds(500)]),
            failureBlocks: [.zero, .seconds(86_400)], joinLimit: .seconds(30), addressLimit: .seconds(30),
            roaming: PeerModel.Roaming(
                belowTwoPointFour: -49, belowFive: -49, every: .seconds(300), gain: 10, attempts: 3)),
        extraAddressTime: .milliseconds(700))
}

extension Peer {
    /// iwd with its own network configuration.
    ///
    /// - Offline, scans the channels of known networks first, then all channels after 10, 20, 40, 80, 160 and 300 s
    ///   (`InitialPeriodicScanInterval`, `MaximumPeriodicScanInterval`, iwd.config(5)). Discards the kernel's older
    ///   results.
    /// - Ranks a scan's results by signal and last use (`network_rankmod`), tries one after the other, and then scans
    ///   again.
    /// - Waits for the user after a refused key. After other failures, ignores an access point for 60 s, then 30 times
    ///   as long (`[Blacklist]` in iwd.config(5)).
    /// - Below -70 dBm, or -76 dBm on 5 GHz, searches for a better access point of the same network every 60 s
    ///   (`RoamThreshold`, `RoamThreshold5G`, `RoamRetryInterval`). Never leaves a working network.
    static let iwd = Peer(
        name: "iwd",
        model: PeerModel(
            preference: .signalTimesRecency, looksWhereItKnows: true,
            scanWaits: [10, 20, 40, 80, 160, 300].map(Duration.seconds), afterFailure: .nextCandidate,
            wrongKeyBlocks: [nil], failureBlocks: [60, 1800, 54_000, 86_400].map(Duration.seconds),
            joinLimit: .seconds(10), addressLimit: .seconds(60),
            roaming: PeerModel.Roaming(belowTwoPointFour: -70, belowFive: -76, every: .seconds(60), gain: 5)),
        extraAddressTime: .zero)
}

extension Peer {
    /// NetworkManager with its own DHCP client.
    ///
    /// - After a loss, waits 15 s for the same network. wpa_supplicant knows only this network in that time
    ///   (`wireless_secrets_tries`, `link_timeout` in nm-device-wifi.c; 15 s measured in the lab).
    /// - Then joins the network with the highest `autoconnect-priority`, and among equal priorities the last used
    ///   network (`nm-settings(5)`).
    /// - Ignores a network for 300 s after four failures (`connection.autoconnect-retries-default`). Without a secret
    ///   agent, never retries a network that refused its key (measured in the lab).
    /// - Scans after 3 s, then in steps of 20 s up to 120 s (`SCAN_INTERVAL_*`), and waits 45 s for an address
    ///   (`ipv4.dhcp-timeout`).
    /// - Sets wpa_supplicant's `bgscan` to `simple:30:-70:86400`: below -70 dBm, searches for a better access point of
    ///   the same network every 30 s.
    static let networkManager = Peer(
        name: "NetworkManager",
        model: PeerModel(
            preference: .priorityThenRecency, trustsMemory: true, afterLoss: .milliseconds(100),
            loyalty: .seconds(15), scanWaits: [3, 20, 40, 60, 80, 100, 120].map(Duration.seconds),
            afterFailure: .scan(waits: [.milliseconds(500), .seconds(1), .seconds(5)]),
            wrongKeyBlocks: [nil], failureBlocks: [0, 0, 0, 300].map(Duration.seconds), joinLimit: .seconds(25),
            addressLimit: .seconds(45),
            roaming: PeerModel.Roaming(belowTwoPointFour: -70, belowFive: -70, every: .seconds(30), gain: 5)),
        extraAddressTime: .seconds(2))
}

extension Peer {
    /// A naive policy: scans every 10 s and joins the strongest access point of any known network. It has no margin, no
    /// waits after failures and no memory of failures.
    static let strongest = Peer(
        name: "strongest",
        model: PeerModel(
            preference: .signal, scanWaits: [.seconds(10)],
            afterFailure: .nextCandidate, joinLimit: .seconds(20), addressLimit: .seconds(15),
            roaming: PeerModel.Roaming(
                belowTwoPointFour: 0, belowFive: 0, every: .seconds(10), gain: 1, crossesNetworks: true)),
        extraAddressTime: .zero)
}

extension Peer {
    /// wpa_supplicant with dhcpcd, as in a plain board image.
    ///
    /// - Joins the network with the highest priority in range, and among equal priorities the strongest
    ///   (`wpa_supplicant.conf(5)`).
    /// - Keeps a lost access point in its list until two scans miss it, and tries it first.
    /// - Scans 0.1, 0.5, 1, 5 and then always 10 s after a failed join (`wpas_connection_failed`). Ignores the access
    ///   point for 10 s, then 60, 120, 600, 1800 s, unless it is the only one (`bssid_ignore.c`).
    /// - Disables a network that refused the key for 10 s, then 20, 30, 60, 90, 120, 300 s (`wpas_auth_failed`).
    /// - Scans every 5 s while it finds no network to join (`scan_interval`). Does not check addresses. Never leaves a
    ///   working link, because `bgscan` is not set by default.
    /// - dhcpcd takes 5.7 to 7.4 s for an address (measured, Docs/contributor/testing.md).
    static let wpaSupplicant = Peer(
        name: "wpa_supplicant",
        model: PeerModel(
            preference: .priorityThenSignal, trustsMemory: true, afterLoss: .milliseconds(100),
            scanWaits: [.seconds(5)],
            afterFailure: .scan(
                waits: [.milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5), .seconds(10)]),
            wrongKeyBlocks: [10, 20, 30, 60, 90, 120, 300].map(Duration.seconds),
            failureBlocks: [10, 60, 120, 600, 1800].map(Duration.seconds), joinLimit: .seconds(10)),
        extraAddressTime: .milliseconds(5600))
}
