extension Peer {
    /// wpa_supplicant with dhcpcd, as in a board's image without more.
    ///
    /// - It joins the network of the highest priority in range, and among equals the strongest (`wpa_supplicant.conf(5)`).
    /// - A lost access point is in its list until two scans have missed it, and is tried first.
    /// - After a failed join it scans again after 0.1, 0.5, 1, 5 and then always 10 s (`wpas_connection_failed`), and leaves
    ///   the access point alone for 10 s, then 60, 120, 600, 1800 s, unless it is the only one (`bssid_ignore.c`).
    /// - A network that refused the key is disabled for 10 s, then 20, 30, 60, 90, 120, 300 s (`wpas_auth_failed`).
    /// - It scans every 5 s while nothing can be joined (`scan_interval`), knows nothing of addresses, and never leaves a
    ///   living link, for `bgscan` is not set by default.
    /// - dhcpcd takes 5.7 to 7.4 s from the link to the address (measured, Docs/lab.md).
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
