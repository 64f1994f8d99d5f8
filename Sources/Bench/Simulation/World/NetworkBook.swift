import AgentModel
import Failover

/// The networks as the device has them stored. One with a new password is another network to the policy: nothing that
/// was held against it counts any more.
struct NetworkBook {
    struct Entry {
        var id: NetworkID
        let ssid: SSID
        var password: String?
        let isHidden: Bool
        var isPreferred: Bool
        var lastFrequency: Frequency?
        /// The access points that the password has opened, the latest last.
        var proven: [BSSID] = []
    }

    private var entries: [Entry]
    private var lastID: Int

    /// The device has a life before the scenario: it remembers where each network was, and was in what is there at the
    /// beginning.
    ///
    /// - Parameter proven: the access points of each network that are on and take its password.
    init(_ scenario: Scenario, proven: (Int) -> [BSSID]) {
        entries = scenario.networks.enumerated().map { index, network in
            Entry(
                id: NetworkID(index + 1), ssid: network.ssid, password: network.password,
                isHidden: network.isHidden, isPreferred: network.isPreferred,
                lastFrequency: scenario.accessPoints.first { $0.ssid == network.ssid }?.frequency,
                proven: network.password == nil ? [] : Array(proven(index).prefix(Self.maximumProven).reversed()))
        }
        lastID = scenario.networks.count
    }

    /// Indices are the scenario's.
    subscript(index: Int) -> Entry { entries[index] }

    func index(of id: NetworkID) -> Int? { entries.firstIndex { $0.id == id } }

    func index(of ssid: SSID) -> Int? { entries.firstIndex { $0.ssid == ssid } }

    /// In the agent's order: the preferred one first.
    var known: [KnownNetwork] {
        (entries.filter(\.isPreferred) + entries.filter { !$0.isPreferred }).map {
            KnownNetwork(
                id: $0.id, ssid: $0.ssid, usesPassphrase: $0.password != nil, isHidden: $0.isHidden,
                isPreferred: $0.isPreferred)
        }
    }

    var remembered: [(NetworkID, Frequency)] {
        entries.compactMap { entry in entry.lastFrequency.map { (entry.id, $0) } }
    }

    /// As many as the key file keeps of a network.
    private static let maximumProven = 4

    /// The latest first.
    var proven: [(NetworkID, BSSID)] {
        entries.flatMap { entry in entry.proven.reversed().map { (entry.id, $0) } }
    }

    mutating func note(_ frequency: Frequency, of index: Int) { entries[index].lastFrequency = frequency }

    /// The network's password has opened an access point.
    mutating func opened(_ bssid: BSSID, of index: Int) {
        guard entries[index].password != nil else { return }
        entries[index].proven = (entries[index].proven.filter { $0 != bssid } + [bssid]).suffix(Self.maximumProven)
    }

    /// - Returns: whether that is news.
    mutating func tell(_ password: String?, of ssid: SSID) -> Bool {
        index(of: ssid).map { setPassword(password, of: $0) } ?? false
    }

    private mutating func setPassword(_ password: String?, of index: Int) -> Bool {
        guard entries[index].password != password else { return false }
        lastID += 1
        entries[index].id = NetworkID(lastID)
        entries[index].password = password
        entries[index].proven = []
        return true
    }

    mutating func prefer(_ index: Int) -> Bool {
        guard !entries[index].isPreferred else { return false }
        for other in entries.indices { entries[other].isPreferred = other == index }
        return true
    }

    /// As the scenario begins.
    mutating func reset(to networks: [Scenario.Network]) -> Bool {
        var isChanged = false
        for (index, network) in networks.enumerated() {
            if setPassword(network.password, of: index) { isChanged = true }
            guard entries[index].isPreferred != network.isPreferred else { continue }
            entries[index].isPreferred = network.isPreferred
            isChanged = true
        }
        return isChanged
    }
}
