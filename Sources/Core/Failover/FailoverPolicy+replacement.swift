import AgentModel

// A join that drags on does not make the device blind: a wrong password shows after four seconds, a missing DHCP server after
// fifteen. The channels of the other networks are looked at meanwhile, and one with better prospects is joined instead.
extension FailoverPolicy {
    /// How long an access point may take to let the device in before others are looked for; it takes a tenth of a second.
    private static let patience = Duration.seconds(2)

    /// When an attempt that begins now may be replaced. One that is not the first has had its time.
    func replaceable(_ network: NetworkID, from now: Instant) -> Instant {
        now + (isSuspect(network, at: now) ? settings.look.first : Self.patience)
    }

    func isSuspect(_ network: NetworkID, at now: Instant) -> Bool {
        standings[network].map { $0.reputation(at: now) != .sound } ?? false
    }

    /// When to see whether another network can take an attempt's place.
    func replacementMoment(_ attempt: Attempt) -> Instant? {
        guard isReady, command == nil, scan == nil, let start = attempt.replaceableFrom,
            !places(besides: attempt.network).isEmpty
        else { return nil }
        return search.nextLook.map { max($0, start) } ?? start
    }

    private func places(besides network: NetworkID) -> [Frequency] {
        Set(networks.filter { $0.id != network }.flatMap { air.places(of: $0.id) }).sorted()
    }

    /// Joins what has better prospects than an attempt that takes long, or looks for it.
    mutating func seekReplacement(of attempt: Attempt, at now: Instant, _ actions: inout [PolicyAction]) {
        guard isReady, let start = attempt.replaceableFrom, start <= now else { return }
        if let best = bestCandidate(at: now), isBetter(best, than: attempt, at: now) {
            // The first time that counts as a failure: two that are slow must not take each other's place for ever.
            guard isSuspect(attempt.network, at: now) else {
                return attemptFailed(attempt, .timeout, .inUse, at: now, &actions)
            }
            if attempt.cause == .preferred { preferredReturn.returnFailed(at: now) }
            // There is no search where a living link was left for it.
            let cause = search.since == nil ? .failure(.timeout) : search.cause
            join(best.network.id, at: best.bss, purpose: .automatic, cause: cause, at: now, &actions)
        } else if scan == nil, search.nextLook.map({ $0 <= now }) ?? true {
            let places = places(besides: attempt.network)
            guard !places.isEmpty else { return }
            search.looked(at: now, isSpare: otherUplink != nil, settings: settings)
            orderScan(places, reason: .offline, at: now, &actions)
        }
    }

    private func isBetter(_ candidate: Candidate, than attempt: Attempt, at now: Instant) -> Bool {
        guard candidate.network.id != attempt.network else { return false }
        // A suspect one was joined for a reason though others were there: what has come since counts.
        guard !isSuspect(attempt.network, at: now) else { return !attempt.rivals.contains(candidate.network.id) }
        return candidate.rank.reputation == .sound && candidate.rank.quality == .good
    }
}
