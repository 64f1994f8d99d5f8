import AgentModel

/// Which addresses have come with wrong keys, and how long their next handshake waits for it.
struct WrongKeys {
    private struct Record {
        var count: Int
        var last: Instant
    }

    private let limits: AppServer.WrongKeyLimits
    private var records: [IPAddress.Site: Record] = [:]

    init(_ limits: AppServer.WrongKeyLimits) { self.limits = limits }

    /// How many have come in a row.
    func count(from site: IPAddress.Site, at now: Instant) -> Int {
        guard let record = records[site], now - record.last < limits.memory else { return 0 }
        return record.count
    }

    /// How long a handshake that comes now has to wait.
    func delay(for site: IPAddress.Site, at now: Instant) -> Duration {
        let count = count(from: site, at: now)
        return count == 0 ? .zero : limits.waits.wait(after: count - 1)
    }

    mutating func record(_ site: IPAddress.Site, at now: Instant) {
        let count = count(from: site, at: now)
        if records[site] == nil { makeRoom() }
        records[site] = Record(count: count + 1, last: now)
    }

    mutating func clear(_ site: IPAddress.Site) { records[site] = nil }

    private mutating func makeRoom() {
        guard records.count >= max(1, limits.addresses) else { return }
        if let oldest = records.min(by: { $0.value.last < $1.value.last })?.key { records[oldest] = nil }
    }
}
