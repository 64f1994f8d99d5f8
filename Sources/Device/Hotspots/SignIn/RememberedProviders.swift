import AgentModel

/// Which provider signed in at which network, for those used last.
struct RememberedProviders: Sendable {
    /// All access points of one network.
    private struct Network: Hashable {
        let ssid: SSID
        let security: Security
    }

    private let limit: Int
    /// The one used last is last.
    private var entries: [(network: Network, provider: String)] = []

    init(limit: Int) { self.limit = limit }

    var count: Int { entries.count }

    func provider(of network: CaptiveNetwork) -> String? {
        entries.first { $0.network == Network(ssid: network.ssid, security: network.security) }?.provider
    }

    mutating func remember(_ provider: String, for network: CaptiveNetwork) {
        forget(network)
        entries.append((Network(ssid: network.ssid, security: network.security), provider))
        if entries.count > limit { entries.removeFirst(entries.count - limit) }
    }

    mutating func forget(_ network: CaptiveNetwork) {
        entries.removeAll { $0.network == Network(ssid: network.ssid, security: network.security) }
    }
}
