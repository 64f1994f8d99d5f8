import AgentModel

/// A connection manager that altnet is compared with: how it decides, and how long what it runs on takes.
public struct Peer: Sendable {
    public let name: String
    public let habits: PeerHabits
    /// The time of its DHCP client on top of the access point's.
    let extraAddressTime: Duration

    public static let all = [wpaSupplicant, networkManager, iwd, strongest, espHome]

    public var timing: StackTiming {
        var timing = StackTiming()
        timing.extraAddressTime = extraAddressTime
        timing.lossDetection = StackTiming.kernelsLossDetection
        return timing
    }

    public func makePolicy() -> PeerPolicy { PeerPolicy(habits: habits) }
}

/// The differences between connection managers, as far as they decide where the device is.
public struct PeerHabits: Sendable, Hashable {
    /// The network in range that is tried first.
    public var preference: Preference
    /// Whether access points are believed to be there for 30 s after they were heard, or only if the scan just done
    /// showed them.
    public var trustsMemory = false
    /// Whether the first scans look only at channels on which known networks were seen before.
    public var looksWhereItKnows = false
    /// From a lost link to the first scan.
    public var afterLoss = Duration.zero
    /// After a loss only the network that was lost is looked for, for this long.
    public var loyalty = Duration.zero
    /// Waits between scans that found nothing to join; the last one for ever.
    public var scanWaits: [Duration]
    /// The reaction to a failed join.
    public var afterFailure: AfterFailure
    /// How long a network is left alone after each refusal of the key in a row; nil: for ever.
    public var wrongKeyBlocks: [Duration?] = []
    /// The same for an access point after other failures. Lifted where there is nothing else to join.
    public var failureBlocks: [Duration?] = []
    /// From the order to join until the access point has let the device in.
    public var joinLimit: Duration
    /// From there until there is an address; nil: as long as it takes.
    public var addressLimit: Duration?
    /// Whether and how a living link is left; nil: never.
    public var roaming: Roaming?

    public enum Preference: Sendable, Hashable {
        /// The strongest access point.
        case signal
        /// The network with the higher priority, then the strongest access point.
        case priorityThenSignal
        /// The network with the higher priority, then the one that was used last.
        case priorityThenRecency
        /// Signal and recency weighed against each other.
        case signalTimesRecency
    }

    public enum AfterFailure: Sendable, Hashable {
        /// The next best of the same scan is tried; scans go on when none is left.
        case nextCandidate
        /// Another scan after this wait, which depends on the number of failures in a row.
        case scan(waits: [Duration])
    }

    /// How a better access point is looked for while the link lives.
    public struct Roaming: Sendable, Hashable {
        /// Looked for only while the signal is below this, in dBm.
        public var belowTwoPointFour: Int
        public var belowFive: Int
        public var every: Duration
        /// By how many dB another access point has to be stronger.
        public var gain: Int
        /// At most so many searches on one link.
        public var attempts: Int = .max
        /// Whether access points of other networks count as well.
        public var crossesNetworks = false

        func threshold(for frequency: Frequency?) -> Int {
            frequency.map { $0.band != .twoPointFour } ?? false ? belowFive : belowTwoPointFour
        }
    }
}

extension [Duration] {
    /// The wait after `count` earlier ones: the last one is for ever.
    func wait(after count: Int) -> Duration { self[Swift.min(count, self.count - 1)] }
}

extension Peer {
    /// ESPHome's wifi component, on the same radio as the others.
    ///
    /// - It scans, sorts by priority and then by signal, and tries the first one twice; an access point that failed
    ///   twice loses priority for as long as the device runs. 0.5 s of rest come before the next scan (the comments at
    ///   the head of esphome/components/wifi/wifi_component.cpp). A wrong key is a failure like any other.
    /// - Online below -49 dBm it looks every 5 min, at most three times on a link, for an access point of the same
    ///   network that is 10 dB stronger (`ROAMING_CHECK_INTERVAL`, `ROAMING_MIN_IMPROVEMENT`, `ROAMING_GOOD_RSSI`).
    static let espHome = Peer(
        name: "ESPHome",
        habits: PeerHabits(
            preference: .priorityThenSignal, afterLoss: .milliseconds(500),
            scanWaits: [.milliseconds(500)], afterFailure: .scan(waits: [.milliseconds(500)]),
            failureBlocks: [.zero, .seconds(86_400)], joinLimit: .seconds(30), addressLimit: .seconds(30),
            roaming: PeerHabits.Roaming(
                belowTwoPointFour: -49, belowFive: -49, every: .seconds(300), gain: 10, attempts: 3)),
        extraAddressTime: .milliseconds(700))
}

extension Peer {
    /// iwd with its own network configuration.
    ///
    /// - Offline it scans at once the channels on which known networks were seen, then all of them after 10, 20, 40,
    ///   80, 160 and 300 s (`InitialPeriodicScanInterval`, `MaximumPeriodicScanInterval`, iwd.config(5)), with the
    ///   kernel's memory of earlier scans flushed.
    /// - It tries what a scan showed one after the other, ranked by signal and by how recently a network was used
    ///   (`network_rankmod`), and then scans again.
    /// - A network that refused the key waits for the user to enter it anew; an access point that failed otherwise is
    ///   left alone for 60 s, then 30 times as long (`[Blacklist]` in iwd.config(5)).
    /// - Below -70 dBm, -76 dBm on 5 GHz, it looks for a better access point of the same network, again every 60 s
    ///   (`RoamThreshold`, `RoamThreshold5G`, `RoamRetryInterval`). It does not leave the network.
    static let iwd = Peer(
        name: "iwd",
        habits: PeerHabits(
            preference: .signalTimesRecency, looksWhereItKnows: true,
            scanWaits: [10, 20, 40, 80, 160, 300].map(Duration.seconds), afterFailure: .nextCandidate,
            wrongKeyBlocks: [nil], failureBlocks: [60, 1800, 54_000, 86_400].map(Duration.seconds),
            joinLimit: .seconds(10), addressLimit: .seconds(60),
            roaming: PeerHabits.Roaming(belowTwoPointFour: -70, belowFive: -76, every: .seconds(60), gain: 5)),
        extraAddressTime: .zero)
}

extension Peer {
    /// NetworkManager with its own DHCP client.
    ///
    /// - It gives a lost link 15 s to come back, with wpa_supplicant knowing that one network only
    ///   (`wireless_secrets_tries`, `link_timeout` in nm-device-wifi.c; 15 s measured in the lab).
    /// - Then the network of the highest `autoconnect-priority` is taken, and among equals the one that was used last
    ///   (`nm-settings(5)`).
    /// - A network fails four times (`connection.autoconnect-retries-default`) before it is left alone for 300 s.
    ///   Without an agent to ask for secrets, one that refused its key is never tried again (measured in the lab).
    /// - It scans after 3 s, then in steps of 20 s up to 120 s (`SCAN_INTERVAL_*`), and waits 45 s for an address
    ///   (`ipv4.dhcp-timeout`).
    /// - It sets wpa_supplicant's `bgscan` to `simple:30:-70:86400`: below -70 dBm a better access point of the same
    ///   network is looked for every 30 s.
    static let networkManager = Peer(
        name: "NetworkManager",
        habits: PeerHabits(
            preference: .priorityThenRecency, trustsMemory: true, afterLoss: .milliseconds(100),
            loyalty: .seconds(15), scanWaits: [3, 20, 40, 60, 80, 100, 120].map(Duration.seconds),
            afterFailure: .scan(waits: [.milliseconds(500), .seconds(1), .seconds(5)]),
            wrongKeyBlocks: [nil], failureBlocks: [0, 0, 0, 300].map(Duration.seconds), joinLimit: .seconds(25),
            addressLimit: .seconds(45),
            roaming: PeerHabits.Roaming(belowTwoPointFour: -70, belowFive: -70, every: .seconds(30), gain: 5)),
        extraAddressTime: .seconds(2))
}

extension Peer {
    /// A simple policy, as many write it first: scan every 10 s, and be on the strongest access point of any known
    /// network.
    ///
    /// No margin, no memory of failures and no wait; it stands for the other end, where a device chases every decibel.
    static let strongest = Peer(
        name: "strongest",
        habits: PeerHabits(
            preference: .signal, scanWaits: [.seconds(10)],
            afterFailure: .nextCandidate, joinLimit: .seconds(20), addressLimit: .seconds(15),
            roaming: PeerHabits.Roaming(
                belowTwoPointFour: 0, belowFive: 0, every: .seconds(10), gain: 1, crossesNetworks: true)),
        extraAddressTime: .zero)
}

extension Peer {
    /// wpa_supplicant with dhcpcd, as in a board's image without more.
    ///
    /// - It joins the network of the highest priority in range, and among equals the strongest
    ///   (`wpa_supplicant.conf(5)`).
    /// - A lost access point is in its list until two scans have missed it, and is tried first.
    /// - After a failed join it scans again after 0.1, 0.5, 1, 5 and then always 10 s (`wpas_connection_failed`), and
    ///   leaves the access point alone for 10 s, then 60, 120, 600, 1800 s, unless it is the only one
    ///   (`bssid_ignore.c`).
    /// - A network that refused the key is disabled for 10 s, then 20, 30, 60, 90, 120, 300 s (`wpas_auth_failed`).
    /// - It scans every 5 s while nothing can be joined (`scan_interval`), knows nothing of addresses, and never leaves
    ///   a living link, for `bgscan` is not set by default.
    /// - dhcpcd takes 5.7 to 7.4 s from the link to the address (measured, Docs/contributor/testing.md).
    static let wpaSupplicant = Peer(
        name: "wpa_supplicant",
        habits: PeerHabits(
            preference: .priorityThenSignal, trustsMemory: true, afterLoss: .milliseconds(100),
            scanWaits: [.seconds(5)],
            afterFailure: .scan(
                waits: [.milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5), .seconds(10)]),
            wrongKeyBlocks: [10, 20, 30, 60, 90, 120, 300].map(Duration.seconds),
            failureBlocks: [10, 60, 120, 600, 1800].map(Duration.seconds), joinLimit: .seconds(10)),
        extraAddressTime: .milliseconds(5600))
}
