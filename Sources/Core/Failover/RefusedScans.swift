import AgentModel

/// A run of scans that the radio refused or did not end, and what is done meanwhile.
///
/// Drivers refuse scans for seconds or hours: while they join something, after their firmware has failed, or because
/// an access point is run on the same radio. That says nothing about any network.
public struct RefusedScans: Sendable, Hashable {
    /// How many there were in a row.
    public private(set) var count = 0
    /// When the run began; nil where the last scan was none of such.
    public private(set) var since: Instant?
    /// No scan is ordered before.
    private(set) var pauseEnd: Instant?
    /// Whether the radio joins a network that no scan has shown.
    private(set) var joinsUnseen = false
    /// The networks that were tried in this round, which each has one turn in.
    private var tried: Set<NetworkID> = []
    private var roundBegan: Instant?
    private(set) var nextRound: Instant?
    /// Whether the history says already that networks are joined unseen.
    var isReported = false

    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(10)]
    /// One alone may be a scan that came while the driver still ended a join.
    private static let run = 2

    mutating func refused(joinsUnseen: Bool, at now: Instant) {
        since = since ?? now
        pauseEnd = now + Self.pauses[min(count, Self.pauses.count - 1)]
        count = min(count, .max - 1) + 1
        self.joinsUnseen = joinsUnseen
    }

    /// Something has changed: a scan is worth another try now.
    mutating func endPause() { pauseEnd = nil }

    /// Whether networks are joined that no scan has shown.
    var isBlind: Bool { joinsUnseen && count >= Self.run }

    /// Of those that can be joined, the first that has not had its turn in this round.
    func next(of networks: [NetworkID]) -> NetworkID? { networks.first { !tried.contains($0) } ?? networks.first }

    /// It is a network's turn.
    /// - Parameters:
    ///   - networks: all that can be joined.
    ///   - wait: from one round to the next at the least.
    mutating func tries(_ network: NetworkID, of networks: [NetworkID], wait: Duration, at now: Instant) {
        if tried.isEmpty { roundBegan = now }
        tried.insert(network)
        guard networks.allSatisfy(tried.contains) else { return nextRound = nil }
        nextRound = roundBegan.map { $0 + wait }
        tried = []
    }
}

// While scans are refused the device joins what it knows where that was last seen: the radio's firmware looks for it by
// itself.
extension FailoverPolicy {
    /// Whether a scan can be ordered now.
    var canScan: Bool { scan == nil && refusedScans.pauseEnd == nil }

    /// The policy's own scan was refused, or has not ended in time.
    mutating func scanRefused(
        id: UInt64, joinsUnseen: Bool, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        guard scan?.order.id == id else { return }
        refusedScans.refused(joinsUnseen: joinsUnseen, at: now)
        // wpa_supplicant scans before it joins, in vain as well.
        if refusedScans.isBlind, case .joining(let attempt) = phase, attempt.purpose == .automatic, !attempt.isUnseen {
            self.scan = nil
            refusedScans.tries(attempt.network, of: unseenNetworks, wait: .zero, at: now)
            join(attempt.network, at: nil, isUnseen: true, purpose: .automatic, cause: attempt.cause, at: now, &actions)
            refusedScans.isReported = true
            return
        }
        scanEnded(id: id, isComplete: false, at: now, &actions)
    }

    /// When the next network is joined unseen; nil where none is to be.
    var unseenMoment: Instant? {
        guard refusedScans.isBlind, let since = refusedScans.since, !unseenNetworks.isEmpty else { return nil }
        // A scan that is under way is refused at once, or works.
        return [since, refusedScans.nextRound, scan.map { $0.since + Self.scanPatience }].compactMap(\.self).max()
    }

    private static let scanPatience = Duration.seconds(1)

    /// Networks whose place is known and which nothing is held against, the one that the device belongs in first.
    private var unseenNetworks: [NetworkID] {
        let known = networks.map(\.id).filter { network in
            !scanCache.places(of: network).isEmpty && !(latest.map { isBlocked(network, at: $0) } ?? false)
        }
        return known.filter { $0 == preferred } + known.filter { $0 != preferred }
    }

    mutating func joinUnseen(at now: Instant, _ actions: inout [PolicyAction]) {
        let networks = unseenNetworks
        guard let network = refusedScans.next(of: networks), let since = refusedScans.since else { return }
        let wait = settings.scanInterval.known.wait(after: now - since, part: Search.patience)
        refusedScans.tries(network, of: networks, wait: wait, at: now)
        join(network, at: nil, isUnseen: true, purpose: .automatic, cause: search.cause, at: now, &actions)
        refusedScans.isReported = true
    }

    /// Whether the join with this epoch goes to a network that no scan has shown.
    public func isUnseen(_ epoch: UInt64) -> Bool { attempt.map { $0.epoch == epoch && $0.isUnseen } ?? false }

    /// Whether the join with this epoch goes to an access point that was just seen, and whose signal is good.
    public func isNear(_ epoch: UInt64) -> Bool {
        guard let attempt, attempt.epoch == epoch, let bssid = attempt.bssid, let now = latest else { return false }
        return scanCache.accessPoints(of: attempt.network, since: now - settings.freshness - settings.joinLimit)
            .contains { $0.bssid == bssid && quality(of: $0) == .good }
    }

    /// Whether an attempt that was made unseen has shown that its network is there. Else its failure says nothing.
    func saysSomething(_ failure: JoinFailure) -> Bool {
        switch failure {
        case .wrongKey, .certificateRefused, .noAddress, .captive, .noInternet: true
        case .accessPointFull, .notFound, .lessSecure, .unsupportedSecurity, .rejected, .timeout, .linkLost,
            .unconfirmed, .interrupted, .supplicantUnavailable, .interfaceDown:
            false
        }
    }
}
