import AgentModel

/// Which addresses have come with wrong keys, and how long their next handshake waits for it.
struct WrongKeys {
    private struct Record {
        var count: Int
        var last: Instant
    }

    private let backOff: AppServer.BackOff
    private var records: [IPAddress.Site: Record] = [:]

    init(_ backOff: AppServer.BackOff) { self.backOff = backOff }

    /// How many have come in a row.
    func count(from site: IPAddress.Site, at now: Instant) -> Int {
        guard let record = records[site], now - record.last < backOff.memory else { return 0 }
        return record.count
    }

    /// How long a handshake that comes now has to wait.
    func delay(for site: IPAddress.Site, at now: Instant) -> Duration {
        let count = count(from: site, at: now)
        // Doubling a duration more often than this would overflow, and is beyond any limit.
        return count == 0 ? .zero : min(backOff.first * (1 << min(count - 1, 20)), backOff.most)
    }

    mutating func record(_ site: IPAddress.Site, at now: Instant) {
        let count = count(from: site, at: now)
        if records[site] == nil { makeRoom() }
        records[site] = Record(count: count + 1, last: now)
    }

    mutating func clear(_ site: IPAddress.Site) { records[site] = nil }

    private mutating func makeRoom() {
        guard records.count >= max(1, backOff.addresses) else { return }
        if let oldest = records.min(by: { $0.value.last < $1.value.last })?.key { records[oldest] = nil }
    }
}
