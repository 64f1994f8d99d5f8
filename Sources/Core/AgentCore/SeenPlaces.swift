import AgentModel

/// On which channels names were last seen, whether a network of theirs is stored or not: the first place to look for one that
/// the device is sent to.
struct SeenPlaces: Sendable, Equatable {
    /// The strongest first.
    private(set) var frequencies: [SSID: [Frequency]] = [:]

    /// Of the names of a scan, the strongest. Whatever is in the air, it takes no more room.
    static let maximumNames = 128
    /// A name is often on 2.4 GHz and on 5 GHz.
    static let frequenciesPerName = 2

    subscript(ssid: SSID) -> [Frequency] { frequencies[ssid] ?? [] }

    /// A scan that shows nothing says nothing of the names before.
    mutating func note(_ results: [BSS]) {
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
