import AgentModel

/// The access points of one network that have completed a handshake with its key: names are free to take, and the key is
/// not.
struct ProvenAccessPoints: Hashable {
    /// How many are remembered, also over a restart.
    static let maximum = 4

    /// The one that the key opened last comes first.
    private(set) var all: [BSSID] = []

    var isEmpty: Bool { all.isEmpty }

    func contains(_ bssid: BSSID) -> Bool { all.contains(bssid) }

    /// The key has opened it.
    mutating func opened(_ bssid: BSSID) {
        guard all.first != bssid else { return }
        all = Array(([bssid] + all.filter { $0 != bssid }).prefix(Self.maximum))
    }

    /// The key had opened it before the device started: what it has opened since counts more.
    mutating func remember(_ bssid: BSSID) {
        guard !contains(bssid), all.count < Self.maximum else { return }
        all.append(bssid)
    }
}
