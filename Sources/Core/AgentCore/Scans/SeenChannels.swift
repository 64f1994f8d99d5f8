import AgentModel

/// Channels on which networks were last seen, stored or not. A switch searches these channels first.
struct SeenChannels: Sendable, Equatable {
    /// Frequencies by SSID, strongest network first.
    private(set) var frequencies: [SSID: [Frequency]] = [:]

    /// Maximum number of names. The strongest networks take precedence.
    static let maximumNames = 128
    /// Maximum number of frequencies for a name. Many networks use 2.4 GHz and 5 GHz.
    static let frequenciesPerName = 2

    subscript(ssid: SSID) -> [Frequency] { frequencies[ssid] ?? [] }

    /// Records the results of a scan. An empty scan does not remove names.
    mutating func record(_ results: [BSS]) {
        guard !results.isEmpty else { return }
        var new: [SSID: [Frequency]] = [:]
        for bss in results.sorted(by: { $0.signal > $1.signal }) {
            guard let ssid = bss.ssid, !ssid.bytes.isEmpty, new[ssid] != nil || new.count < Self.maximumNames else {
                continue
            }
            let known = new[ssid] ?? []
            guard known.count < Self.frequenciesPerName, !known.contains(bss.frequency) else { continue }
            new[ssid] = known + [bss.frequency]
        }
        for (ssid, places) in frequencies where new[ssid] == nil && new.count < Self.maximumNames {
            new[ssid] = places
        }
        frequencies = new
    }
}
