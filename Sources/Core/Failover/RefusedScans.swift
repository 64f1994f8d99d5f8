import AgentModel

/// A run of scans that the radio refused or did not end.
///
/// Drivers refuse scans for seconds or hours: while they join something, after their firmware has failed, or because
/// an access point is run on the same radio. That says nothing about any network.
public struct RefusedScans: Sendable, Hashable {
    /// Refused scans in a row.
    public private(set) var count = 0
    /// Start of the run; nil if the last scan worked.
    public private(set) var since: Instant?
    /// Time before which no scan is ordered.
    private(set) var pauseEnd: Instant?
    /// Whether the radio joins a network that no scan has shown.
    private(set) var joinsUnseen = false
    /// Whether the history says already that networks are joined unseen.
    var isReported = false

    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(10)]
    /// Length of a run that counts. One alone may come while the driver still ends a join.
    private static let run = 2

    mutating func refused(joinsUnseen: Bool, at now: Instant) {
        since = since ?? now
        pauseEnd = now + Self.pauses[min(count, Self.pauses.count - 1)]
        count = min(count, .max - 1) + 1
        self.joinsUnseen = joinsUnseen
    }

    /// Allows another scan at once, after a change.
    mutating func endPause() { pauseEnd = nil }

    /// Whether networks are joined that no scan has shown.
    var isBlind: Bool { joinsUnseen && count >= Self.run }
}

// While scans are refused the device joins known networks where they were last seen: the radio's firmware finds them.
extension FailoverPolicy {
    /// The policy's own scan was refused, or has not ended in time.
    mutating func scanRefused(id: UInt64, joinsUnseen: Bool) {
        guard scan?.order.id == id else { return }
        scans.refused.refused(joinsUnseen: joinsUnseen, at: now)
        // wpa_supplicant scans before it joins, in vain as well.
        if refusedScans.isBlind, case .joining(let attempt) = phase, attempt.purpose == .automatic, !attempt.isUnseen {
            scans.running = nil
            join(attempt.network, at: nil, isUnseen: true, purpose: .automatic, cause: attempt.cause)
            scans.refused.isReported = true
            return
        }
        scanEnded(id: id, isComplete: false)
    }

    /// When the next network is joined unseen; nil for none.
    var unseenMoment: Instant? {
        guard refusedScans.isBlind, let since = refusedScans.since, let network = nextUnseen else { return nil }
        let tried = triedAt(network)
        let wait = settings.scanInterval.known.wait(after: tried - since, part: Search.patience)
        // A scan that is under way is refused at once, or works.
        return max(tried >= since ? tried + wait : since, scan.map { $0.since + Self.scanPatience } ?? since)
    }

    private static let scanPatience = Duration.seconds(1)

    /// Network to join without a scan: its channel is known and it has no penalty. The one tried longest ago since
    /// scans are refused, the preferred one first.
    private var nextUnseen: NetworkID? {
        let known = networks.map(\.id).filter { !scanCache.places(of: $0).isEmpty && !isBlocked($0, at: now) }
        return (known.filter { $0 == preferred } + known).min { triedUnseen($0) < triedUnseen($1) }
    }

    private func triedUnseen(_ network: NetworkID) -> Instant {
        max(triedAt(network), refusedScans.since ?? .distantPast)
    }

    mutating func joinUnseen() {
        guard let network = nextUnseen else { return }
        join(network, at: nil, isUnseen: true, purpose: .automatic, cause: search.cause)
        scans.refused.isReported = true
    }

    /// Whether the join with this epoch goes to a network that no scan has shown.
    public func isUnseen(_ epoch: UInt64) -> Bool { attempt.map { $0.epoch == epoch && $0.isUnseen } ?? false }

    /// Whether the join with this epoch goes to an access point that was just seen, and whose signal is good.
    public func isNear(_ epoch: UInt64) -> Bool {
        guard let attempt, attempt.epoch == epoch, let bssid = attempt.bssid else { return false }
        return scanCache.accessPoints(of: attempt.network, since: now - settings.freshness - settings.joinLimit)
            .contains { $0.bssid == bssid && quality(of: $0) == .good }
    }

    /// Whether a failed unseen attempt has shown that its network is there. Otherwise its failure says nothing.
    func saysSomething(_ failure: JoinFailure) -> Bool {
        [.wrongKey, .certificateRefused, .noAddress, .captive, .noInternet].contains(failure)
    }
}
