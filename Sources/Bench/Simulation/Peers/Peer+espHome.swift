extension Peer {
    /// ESPHome's wifi component, on the same radio as the others.
    ///
    /// - It scans, sorts by priority and then by signal, and tries the first one twice; an access point that failed
    ///   twice loses priority for as long as the device runs. 0.5 s of rest come before the next scan (the comments at the
    ///   head of esphome/components/wifi/wifi_component.cpp). A wrong key is a failure like any other.
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
