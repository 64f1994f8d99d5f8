import AgentModel

/// What scans have seen of the networks that may be joined, and where each was seen at all.
///
/// Networks of strangers are not kept, so its size is bounded by the known networks: `accessPointsPerNetwork` each.
struct Air {
    static let accessPointsPerNetwork = 8
    static let frequenciesPerNetwork = 4

    private var sights: [NetworkID: [BSSID: BSS]] = [:]
    /// Where a network was seen, the latest place first. Outlives the sights: an access point seldom changes its channel.
    private var frequencies: [NetworkID: [Frequency]] = [:]

    mutating func note(_ results: [BSS], of networks: [KnownNetwork]) {
        // The weakest first, so that the strongest is the latest place.
        for bss in results.sorted(by: { ($0.signal, $1.bssid) < ($1.signal, $0.bssid) }) {
            for network in networks where network.matches(bss) { note(bss, of: network.id) }
        }
    }

    private mutating func note(_ bss: BSS, of network: NetworkID) {
        if let known = sights[network]?[bss.bssid], known.lastSeen > bss.lastSeen { return }
        sights[network, default: [:]][bss.bssid] = bss
        if let all = sights[network], all.count > Self.accessPointsPerNetwork,
            let oldest = all.values.min(by: { ($0.lastSeen, $0.bssid) < ($1.lastSeen, $1.bssid) })
        {
            sights[network]?[oldest.bssid] = nil
        }
        note(bss.frequency, of: network)
    }

    mutating func note(_ frequency: Frequency, of network: NetworkID) {
        let others = frequencies[network, default: []].filter { $0 != frequency }
        frequencies[network] = Array(([frequency] + others).prefix(Self.frequenciesPerNetwork))
    }

    mutating func keep(_ networks: [KnownNetwork]) {
        let ids = Set(networks.map(\.id))
        sights = sights.filter { ids.contains($0.key) }
        frequencies = frequencies.filter { ids.contains($0.key) }
    }

    /// The strongest access point of a network among those seen at `since` or later.
    func best(of network: NetworkID, since: Instant) -> BSS? {
        sights[network]?.values.filter { $0.lastSeen >= since }
            .max { ($0.signal, $1.bssid) < ($1.signal, $0.bssid) }
    }

    /// The channel on which an access point was last seen.
    func frequency(of bssid: BSSID) -> Frequency? { sights.values.lazy.compactMap { $0[bssid]?.frequency }.first }

    func latest(of network: NetworkID) -> BSS? {
        sights[network]?.values.max { ($0.lastSeen, $0.signal, $1.bssid) < ($1.lastSeen, $1.signal, $0.bssid) }
    }

    func places(of network: NetworkID) -> [Frequency] { frequencies[network, default: []] }
}
