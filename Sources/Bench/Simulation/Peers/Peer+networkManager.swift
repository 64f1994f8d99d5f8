extension Peer {
    /// NetworkManager with its own DHCP client.
    ///
    /// - It gives a lost link 15 s to come back, with wpa_supplicant knowing that one network only
    ///   (`wireless_secrets_tries`, `link_timeout` in nm-device-wifi.c; 15 s measured in the lab).
    /// - Then the network of the highest `autoconnect-priority` is taken, and among equals the one that was used last
    ///   (`nm-settings(5)`).
    /// - A network fails four times (`connection.autoconnect-retries-default`) before it is left alone for 300 s. Without
    ///   anybody to ask for secrets, one that refused its key is never tried again (measured in the lab).
    /// - It scans after 3 s, then in steps of 20 s up to 120 s (`SCAN_INTERVAL_*`), and waits 45 s for an address
    ///   (`ipv4.dhcp-timeout`).
    /// - It sets wpa_supplicant's `bgscan` to `simple:30:-70:86400`: below -70 dBm a better access point of the same network is
    ///   looked for every 30 s.
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
