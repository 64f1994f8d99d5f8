import AgentModel

/// The networks in range that hotspot providers say that they may serve.
///
/// Providers are asked after a scan about the open networks that it found. Nothing waits for the answer: until it
/// comes, the one before it stands. A device that is lost scans every few seconds: about the same access points it does
/// not ask again so soon.
struct HotspotClaims: Sendable {
    /// For so long, what was said about the same access points stands.
    static let validity: Duration = .seconds(60)

    private var names: [BSSID: [String]] = [:]
    /// What the newest scan found, where it has not been asked about yet.
    private var found: [BSS]?
    /// What the last question was about, and when it was asked.
    private var asked: (accessPoints: Set<BSSID>, moment: Instant)?
    private(set) var isAsking = false

    /// The names of those that claim the network of this access point, in order.
    subscript(bssid: BSSID) -> [String] { names[bssid] ?? [] }

    /// A scan has ended.
    /// - Returns: what providers are to be asked about now; nil for nothing.
    mutating func scanned(_ results: [BSS], at now: Instant) -> [BSS]? {
        // Nothing else has to be signed in to, and what has no name cannot be told of.
        found = results.filter { $0.security.isOpenToAll && $0.ssid != nil }
        return isAsking ? nil : next(at: now)
    }

    /// The providers have answered.
    /// - Returns: what they are to be asked about next.
    mutating func answered(_ names: [BSSID: [String]], at now: Instant) -> [BSS]? {
        guard isAsking else { return nil }
        self.names = names
        isAsking = false
        return next(at: now)
    }

    private mutating func next(at now: Instant) -> [BSS]? {
        guard let networks = found else { return nil }
        found = nil
        let accessPoints = Set(networks.map(\.bssid))
        if let asked, asked.accessPoints == accessPoints, now - asked.moment < Self.validity { return nil }
        asked = (accessPoints, now)
        guard !networks.isEmpty else {
            names = [:]
            return nil
        }
        isAsking = true
        return networks
    }

    /// Asks nothing more.
    mutating func stop() { found = nil }
}
