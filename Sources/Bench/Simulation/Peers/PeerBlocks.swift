import AgentModel
import Failover

/// What a connection manager leaves alone for a while: networks that refused the key, and access points that failed.
struct PeerBlocks: Sendable {
    private var keys: [NetworkID: Entry] = [:]
    private var accessPoints: [BSSID: Entry] = [:]

    private struct Entry {
        var count = 0
        /// Nil: for ever.
        var until: Instant?
    }

    func holds(_ network: NetworkID, _ bssid: BSSID, at now: Instant) -> Bool {
        refusesKey(network, at: now) || accessPoints[bssid].map { Self.lasts($0, at: now) } ?? false
    }

    func refusesKey(_ network: NetworkID, at now: Instant) -> Bool {
        keys[network].map { Self.lasts($0, at: now) } ?? false
    }

    mutating func refuse(_ network: NetworkID, at now: Instant, ladder: [Duration?]) {
        Self.climb(&keys[network, default: Entry()], ladder, at: now)
    }

    mutating func block(_ bssid: BSSID, at now: Instant, ladder: [Duration?]) {
        Self.climb(&accessPoints[bssid, default: Entry()], ladder, at: now)
    }

    /// A join that worked wipes the slate clean.
    mutating func clear(_ network: NetworkID, _ bssid: BSSID) {
        keys[network] = nil
        accessPoints[bssid] = nil
    }

    private static func lasts(_ entry: Entry, at now: Instant) -> Bool { entry.until.map { now < $0 } ?? true }

    private static func climb(_ entry: inout Entry, _ ladder: [Duration?], at now: Instant) {
        entry.until = ladder.isEmpty ? now : ladder[min(entry.count, ladder.count - 1)].map { now + $0 }
        entry.count += 1
    }
}
