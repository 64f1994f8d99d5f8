extension Peer {
    /// What many write first: scan every 10 s, and be on the strongest access point of any network that is known.
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
