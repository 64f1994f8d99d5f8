import AgentModel

/// A connection manager to compare altnet with: its decisions and the timing of its components.
public struct Peer: Sendable {
    public let name: String
    public let model: PeerModel
    /// Time of the peer's DHCP client in addition to the access point's.
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
    /// Whether access points from the kernel's memory (30 s) count, or only those of the last scan.
    public var trustsMemory = false
    /// Whether the first scans cover only channels of known networks.
    public var looksWhereItKnows = false
    public var afterLoss = Duration.zero
    /// Time after a loss in which the peer looks only for the lost network.
    public var loyalty = Duration.zero
    /// Waits between scans without a candidate. The last one repeats.
    public var scanWaits: [Duration]
    public var afterFailure: AfterFailure
    /// Time to ignore a network after each consecutive refusal of the key; nil forever.
    public var wrongKeyBlocks: [Duration?] = []
    /// Time to ignore an access point after each other consecutive failure. Ends if nothing else can be joined.
    public var failureBlocks: [Duration?] = []
    /// Time limit from the order to join until the access point accepts the device.
    public var joinLimit: Duration
    /// Time limit for an address after that; nil for none.
    public var addressLimit: Duration?
    /// Model of leaving a working link; nil if the peer never leaves one.
    public var roaming: Roaming?

    public enum Preference: Sendable, Hashable {
        case signal
        case priorityThenSignal
        case priorityThenRecency
        case signalTimesRecency
    }

    public enum AfterFailure: Sendable, Hashable {
        /// Tries the next best of the same scan. Scans again when none is left.
        case nextCandidate
        /// Scans again after a wait, by the number of consecutive failures.
        case scan(waits: [Duration])
    }

    /// Search for a better access point while the link works.
    public struct Roaming: Sendable, Hashable {
        /// Searches only below this signal, in dBm.
        public var belowTwoPointFour: Int
        public var belowFive: Int
        public var every: Duration
        /// Required improvement in dB.
        public var gain: Int
        public var attempts: Int = .max
        public var crossesNetworks = false

        func threshold(for frequency: Frequency?) -> Int {
            frequency.map { $0.band != .twoPointFour } ?? false ? belowFive : belowTwoPointFour
        }
    }
}

extension [Duration] {
    /// Returns the wait after `count` earlier ones. The last one repeats.
    func wait(after count: Int) -> Duration { self[Swift.min(count, self.count - 1)] }
}

extension Peer {
    /// ESPHome's wifi component, on the same radio as the others.
    ///
    /// - Scans, sorts by priority and signal, and tries the first one twice. Then it lowers that one's priority for
    ///   good, and waits 0.5 s for the next scan (comments at the head of esphome/components/wifi/wifi_component.cpp).
    ///   A wrong key is an ordinary failure.
    /// - Online below -49 dBm, searches every 5 min, at most three times per link. It looks for an access point of the
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
    /// - Offline, scans channels of known networks at once, then all channels after 10, 20, 40, 80, 160 and 300 s
    ///   (`InitialPeriodicScanInterval`, `MaximumPeriodicScanInterval`, iwd.config(5)). Flushes the kernel's older
    ///   results.
    /// - Tries a scan's results one after the other, ranked by signal and last use (`network_rankmod`), and then scans
    ///   again.
    /// - Waits for the user after a refused key. Ignores an access point after other failures for 60 s, then 30 times
    ///   as long (`[Blacklist]` in iwd.config(5)).
    /// - Below -70 dBm, or -76 dBm on 5 GHz, searches for a better access point of the network every 60 s
    ///   (`RoamThreshold`, `RoamThreshold5G`, `RoamRetryInterval`). Does not leave the network.
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
    /// - Waits 15 s for a lost link, while wpa_supplicant knows only that network (`wireless_secrets_tries`,
    ///   `link_timeout` in nm-device-wifi.c; 15 s measured in the lab).
    /// - Then takes the network with the highest `autoconnect-priority`, and among equals the last used
    ///   (`nm-settings(5)`).
    /// - Ignores a network for 300 s after four failures (`connection.autoconnect-retries-default`). Without an agent
    ///   for secrets, never retries a network that refused its key (measured in the lab).
    /// - Scans after 3 s, then in steps of 20 s up to 120 s (`SCAN_INTERVAL_*`), and waits 45 s for an address
    ///   (`ipv4.dhcp-timeout`).
    /// - Sets wpa_supplicant's `bgscan` to `simple:30:-70:86400`: below -70 dBm, searches for a better access point of
    ///   the network every 30 s.
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
    /// A naive policy: scans every 10 s and joins the strongest access point of any known network. Without margin,
    /// waits or memory of failures, it represents the extreme that chases every decibel.
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
    /// - Joins the network with the highest priority in range, and among equals the strongest
    ///   (`wpa_supplicant.conf(5)`).
    /// - Keeps a lost access point in its list until two scans miss it, and tries it first.
    /// - Scans 0.1, 0.5, 1, 5 and then always 10 s after a failed join (`wpas_connection_failed`). Ignores the access
    ///   point for 10 s, then 60, 120, 600, 1800 s, unless it is the only one (`bssid_ignore.c`).
    /// - Disables a network that refused the key for 10 s, then 20, 30, 60, 90, 120, 300 s (`wpas_auth_failed`).
    /// - Scans every 5 s while nothing can be joined (`scan_interval`), and ignores addresses. Never leaves a working
    ///   link, as `bgscan` is not set by default.
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
