import Measuring

extension Report {
    /// What the key file has to reach. Syncs and times are judged by the worst kind of update, bytes by each kind.
    var goals: [Goal] {
        let altnet = updates.filter { $0.entrant == .altnet }
        let syncs = altnet.map(\.cost.syncsMean).max() ?? .infinity
        let times = altnet.map(\.timesAppend).max() ?? .infinity
        let opening = openings.first { $0.entrant == .altnet }
        let milliseconds = opening.map { max($0.warm.p95, $0.cold.p95) / 1000 } ?? .infinity
        let memory = opening.map { Double($0.peakMemory) / 1024 } ?? .infinity
        let bytes = altnet.map { result in
            let fewer = bytesOfSQLite(result.kind) / result.cost.writtenMean
            return Goal(
                text: "at least 10 x fewer bytes than SQLite: \(result.kind.rawValue)", measured: fewer, unit: "x",
                isMet: fewer >= 10)
        }
        return bytes + [
            Goal(text: "at most 1 sync per update", measured: syncs, unit: "syncs", isMet: syncs <= 1),
            Goal(text: "at most 1.5 x a bare append + fdatasync", measured: times, unit: "x", isMet: times <= 1.5),
            Goal(text: "a full file opens in under 5 ms", measured: milliseconds, unit: "ms", isMet: milliseconds < 5),
            Goal(text: "under 256 KiB of memory at the peak", measured: memory, unit: "KiB", isMet: memory < 256),
        ]
    }

    private func bytesOfSQLite(_ kind: UpdateKind) -> Double {
        updates.first { $0.entrant == .sqlite && $0.kind == kind }?.cost.writtenMean ?? 0
    }
}
