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

    /// How long a handshake that comes now has to wait.
    func delay(for site: IPAddress.Site, at now: Instant) -> Duration {
        guard let record = records[site], now - record.last < backOff.memory else { return .zero }
        // Doubling a duration more often than this would overflow, and is beyond any limit.
        let doublings = min(record.count - 1, 20)
        return min(backOff.first * (1 << doublings), backOff.most)
    }

    /// - Returns: how many came in a row, this one included.
    @discardableResult
    mutating func record(_ site: IPAddress.Site, at now: Instant) -> Int {
        if let record = records[site], now - record.last >= backOff.memory { records[site] = nil }
        if records[site] == nil { makeRoom(at: now) }
        let count = (records[site]?.count ?? 0) + 1
        records[site] = Record(count: count, last: now)
        return count
    }

    mutating func clear(_ site: IPAddress.Site) { records[site] = nil }

    private mutating func makeRoom(at now: Instant) {
        guard records.count >= max(1, backOff.addresses) else { return }
        if let oldest = records.min(by: { $0.value.last < $1.value.last })?.key { records[oldest] = nil }
    }
}
