import AgentModel

/// The access points of known networks that scans have seen, and the channels of each network.
///
/// Other networks are not kept, so the known networks bound its size: `accessPointsPerNetwork` each, and those that the
/// network's key has opened, which nothing pushes out.
struct ScanCache {
    static let accessPointsPerNetwork = 8
    static let frequenciesPerNetwork = 4

    /// An access point as last seen, and its previous signal in dBm.
    private struct Observation {
        var bss: BSS
        var before: Int?
    }

    private var observations: [NetworkID: [BSSID: Observation]] = [:]
    /// The latest access point that bears a network's name and is refused, and why.
    private var refused: [NetworkID: Refusal] = [:]
    /// The channels of each network, the latest first. Outlives the observations: an access point seldom changes its
    /// channel.
    private var frequencies: [NetworkID: [Place]] = [:]
    /// The only band that the owner permits, by network.
    private var bands: [NetworkID: Band] = [:]

    private struct Place {
        let frequency: Frequency
        /// Whether an access point was there that the network's key has opened, or the device was there in earlier
        /// days.
        var isVerified: Bool
    }

    /// How long a refusal is reported. Its channel is scanned only when all are, sometimes after five minutes.
    static let refusalMemory = Duration.seconds(600)

    /// An access point that is not joined although it bears the name of a network of the list.
    struct Refusal {
        let bss: BSS
        let failure: JoinFailure
    }

    /// Longest time between two observations of one signal.
    private static let memory = Duration.seconds(30)

    /// Notes scan results, except those with a time stamp from the future, which would be fresh for ever.
    ///
    /// - Parameter verified: the access points of each network that its key has opened.
    mutating func note(
        _ results: [BSS], of networks: [KnownNetwork], verified: (NetworkID) -> VerifiedAccessPoints, at now: Instant
    ) {
        // The weakest first, so that the strongest is the latest place.
        for bss in results.sorted(by: { ($0.signal, $1.bssid) < ($1.signal, $0.bssid) })
        where bss.lastSeen <= now + .seconds(1) {
            for network in networks {
                if network.matches(bss) { note(bss, of: network.id, verified: verified(network.id)) }
                if let failure = network.refusal(of: bss) { note(Refusal(bss: bss, failure: failure), of: network.id) }
            }
        }
    }

    private mutating func note(_ refusal: Refusal, of network: NetworkID) {
        if let known = refused[network], known.bss.lastSeen > refusal.bss.lastSeen { return }
        refused[network] = refusal
    }

    private mutating func note(_ bss: BSS, of network: NetworkID, verified: VerifiedAccessPoints) {
        let known = observations[network]?[bss.bssid]
        if let known, known.bss.lastSeen > bss.lastSeen { return }
        let before = known.flatMap { known in
            let age = bss.lastSeen - known.bss.lastSeen
            return age == .zero ? known.before : age <= Self.memory ? known.bss.signal : nil
        }
        observations[network, default: [:]][bss.bssid] = Observation(bss: bss, before: before)
        observations[network]?.forgetEarliest(beyond: Self.accessPointsPerNetwork, but: verified.contains) {
            $0.bss.lastSeen
        }
        note(bss.frequency, of: network, isVerified: verified.contains(bss.bssid))
    }

    /// Notes that the device's access point has gone to another channel.
    mutating func moved(_ bssid: BSSID, of network: NetworkID, to frequency: Frequency) {
        if let bss = observations[network]?[bssid]?.bss {
            observations[network]?[bssid]?.bss = BSS(
                bssid: bssid, ssid: bss.ssid, frequency: frequency, signal: bss.signal, lastSeen: bss.lastSeen,
                security: bss.security, protection: bss.protection, mobility: bss.mobility,
                channelUtilization: bss.channelUtilization)
        }
        note(frequency, of: network, isVerified: true)
    }

    /// Notes a channel. Access points that the key has not opened push out only one another.
    mutating func note(_ frequency: Frequency, of network: NetworkID, isVerified: Bool) {
        var places = frequencies[network, default: []]
        let known = places.first { $0.frequency == frequency }
        if let known, known.frequency == places.first?.frequency, known.isVerified || !isVerified { return }
        places.removeAll { $0.frequency == frequency }
        places.insert(Place(frequency: frequency, isVerified: isVerified || known?.isVerified ?? false), at: 0)
        if places.count > Self.frequenciesPerNetwork {
            places.remove(at: places.dropFirst().lastIndex { !$0.isVerified } ?? places.count - 1)
        }
        frequencies[network] = places
    }

    /// Notes a channel from before the agent started. Later observations count more.
    mutating func remember(_ frequency: Frequency, of network: NetworkID) {
        guard !places(of: network).contains(frequency), places(of: network).count < Self.frequenciesPerNetwork
        else { return }
        frequencies[network, default: []].append(Place(frequency: frequency, isVerified: true))
    }

    mutating func keep(_ networks: [KnownNetwork]) {
        let ids = Set(networks.map(\.id))
        bands = networks.reduce(into: [:]) { $0[$1.id] = $1.band }
        observations = observations.filter { ids.contains($0.key) }
        refused = refused.filter { ids.contains($0.key) }
        // Observations are judged again: a network that asks for more has fewer access points.
        for network in networks {
            observations[network.id] = observations[network.id]?.filter { network.matches($0.value.bss) }
            if let bss = refused[network.id]?.bss {
                refused[network.id] = network.refusal(of: bss).map { Refusal(bss: bss, failure: $0) }
            }
        }
        frequencies = frequencies.filter { ids.contains($0.key) }
    }

    /// The access points of a network that were seen at `since` or later, in no particular order.
    func accessPoints(of network: NetworkID, since: Instant) -> [BSS] {
        observations[network]?.values.compactMap { $0.bss.lastSeen >= since ? $0.bss : nil } ?? []
    }

    /// The strongest access point of a network among those seen at `since` or later.
    func best(of network: NetworkID, since: Instant) -> BSS? {
        observations[network]?.values.lazy.map(\.bss).filter { $0.lastSeen >= since }
            .max { ($0.signal, $1.bssid) < ($1.signal, $0.bssid) }
    }

    /// The latest access point that bears a network's name and is refused, among those seen at `since` or later.
    func refusal(of network: NetworkID, since: Instant) -> Refusal? {
        refused[network].flatMap { $0.bss.lastSeen >= since ? $0 : nil }
    }

    /// Signal of an access point in dBm: the mean of its last two observations, if the time between them was short.
    func steadySignal(of bss: BSS, in network: NetworkID) -> Int {
        guard let observation = observations[network]?[bss.bssid], let before = observation.before else {
            return bss.signal
        }
        return (observation.bss.signal + before) / 2
    }

    /// The channel on which an access point was last seen.
    func frequency(of bssid: BSSID) -> Frequency? {
        observations.values.lazy.compactMap { $0[bssid]?.bss.frequency }.first
    }

    /// The mobility domain that an access point announces.
    func mobility(of bssid: BSSID) -> MobilityDomain? {
        observations.values.lazy.compactMap { $0[bssid]?.bss.mobility }.first
    }

    func latest(of network: NetworkID, preferring verified: VerifiedAccessPoints = VerifiedAccessPoints()) -> BSS? {
        func latest(of observations: some Sequence<BSS>) -> BSS? {
            observations.max { ($0.lastSeen, $0.signal, $1.bssid) < ($1.lastSeen, $1.signal, $0.bssid) }
        }
        guard let all = observations[network]?.values.map(\.bss), let newest = latest(of: all) else { return nil }
        let best = latest(of: all.filter { verified.contains($0.bssid) })
        return best.flatMap { newest.lastSeen - $0.lastSeen <= Self.memory ? $0 : nil } ?? newest
    }

    /// The channels of a network: first those where its key opened an access point, and of each kind the latest first.
    func places(of network: NetworkID) -> [Frequency] {
        let band = bands[network]
        let places = frequencies[network, default: []].filter { band == nil || $0.frequency.band == band }
        return (places.filter(\.isVerified) + places.filter { !$0.isVerified }).map(\.frequency)
    }
}
