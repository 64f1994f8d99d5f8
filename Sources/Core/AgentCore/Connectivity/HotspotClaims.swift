import AgentModel

/// Networks in range that hotspot providers claim. After a scan, the agent asks the providers about all networks with a
/// name. An answer is valid until the next one. The agent asks about the same access points again after `validity`.
struct HotspotClaims: Sendable {
    /// Time until the agent asks about the same access points again.
    static let validity: Duration = .seconds(60)

    private var names: [BSSID: [String]] = [:]
    /// Named networks of the last scan; nil once the agent has asked the providers about them.
    private var found: [BSS]?
    private var asked: (accessPoints: Set<BSSID>, moment: Instant)?
    private(set) var isAsking = false

    /// Names of the providers that claim this access point, in order.
    subscript(bssid: BSSID) -> [String] { names[bssid] ?? [] }

    /// - Returns: networks to ask providers about; nil for none.
    mutating func scanned(_ results: [BSS], at now: Instant) -> [BSS]? {
        found = results.filter { $0.ssid != nil }
        return isAsking ? nil : next(at: now)
    }

    /// - Returns: networks to ask providers about next; nil for none.
    mutating func handleAnswer(_ names: [BSSID: [String]], at now: Instant) -> [BSS]? {
        guard isAsking else { return nil }
        self.names = names
        isAsking = false
        return next(at: now)
    }

    private mutating func next(at now: Instant) -> [BSS]? {
        guard let networks = found else { return nil }
        found = nil
        guard !networks.isEmpty else {
            (names, asked) = ([:], nil)
            return nil
        }
        let accessPoints = Set(networks.map(\.bssid))
        if let asked, accessPoints.isSubset(of: asked.accessPoints), now - asked.moment < Self.validity { return nil }
        asked = (accessPoints, now)
        isAsking = true
        return networks
    }

    mutating func stop() { found = nil }
}
