extension Peer {
    /// iwd with its own network configuration.
    ///
    /// - Offline it scans at once the channels on which known networks were seen, then all of them after 10, 20, 40, 80, 160 and
    ///   300 s (`InitialPeriodicScanInterval`, `MaximumPeriodicScanInterval`, iwd.config(5)), with the kernel's memory of
    ///   earlier scans flushed.
    /// - It tries what a scan showed one after the other, ranked by signal and by how recently a network was used
    ///   (`network_rankmod`), and then scans again.
    /// - A network that refused the key waits for somebody to enter it anew; an access point that failed otherwise is left
    ///   alone for 60 s, then 30 times as long (`[Blacklist]` in iwd.config(5)).
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
