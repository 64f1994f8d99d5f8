import AgentModel

/// State of the search while nothing is joined.
struct Search: Sendable, Hashable {
    /// Why the device is searching.
    var cause = PolicyDecision.Cause.start
    /// Network and channel that fell silent, not the first to scan.
    var silence: Place?
    private(set) var since: Instant?
    private var lastResorts = 0
    private(set) var nextLastResort: Instant?
    /// Time before which nothing is joined, because the device itself caused the last failure; nil for none.
    var notBefore: Instant?
    /// End of the time in which known channels are scanned at short intervals.
    var reconnectEnd: Instant?
    /// Whether there was a scan since the last try.
    private(set) var hasScanned = false
    /// Whether the history says already that nothing was found.
    var isReported = false
    private(set) var breadth = Breadth.nothing

    /// The extent of the last scan.
    enum Breadth { case nothing, likeliestPlace, likelyPlaces, wide }

    struct Place: Hashable {
        let network: NetworkID
        let frequency: Frequency?
    }

    init(cause: PolicyDecision.Cause = .start, silence: Place? = nil) { (self.cause, self.silence) = (cause, silence) }

    mutating func begin(at now: Instant, settings: PolicySettings) {
        since = since ?? now
        nextLastResort = nextLastResort ?? now + settings.lastResort.first
    }

    /// A try failed.
    mutating func failed(because cause: PolicyDecision.Cause) { (self.cause, hasScanned) = (cause, false) }

    /// - Parameter isQuick: whether the scan covers few channels, and a wider one follows at once if it finds nothing
    ///   good.
    mutating func scans(isQuick: Bool) {
        hasScanned = true
        breadth = !isQuick ? .wide : breadth == .nothing && silence == nil ? .likeliestPlace : .likelyPlaces
    }

    /// Whether a wider scan follows the last one.
    var wasQuick: Bool { breadth == .likeliestPlace || breadth == .likelyPlaces }

    /// The result of a quick scan is too old, or was empty.
    mutating func forgetQuickScan() { if wasQuick { breadth = .nothing } }

    func isReconnecting(at now: Instant) -> Bool { reconnectEnd.map { now < $0 } ?? false }

    static let patience = 300

    /// Delays the last resort after a block, so that other networks come first. This is the shortest wait: a network
    /// that keeps failing must not postpone the last resort for ever.
    mutating func holdLastResort(at now: Instant, settings: PolicySettings) {
        nextLastResort = max(nextLastResort ?? now, now + settings.lastResort.first)
    }

    mutating func tookLastResort(at now: Instant, settings: PolicySettings) {
        lastResorts += 1
        nextLastResort = now + settings.lastResort.wait(after: lastResorts)
    }
}

// Decisions while nothing is joined.
extension FailoverPolicy {
    /// Starts the search again after a change: scans at once, all channels too.
    mutating func searchAnew() {
        search.begin(at: now, settings: settings)
        search.notBefore = nil
        (scans[.known], scans[.full]) = (ScanPlanner.Entry(due: now), ScanPlanner.Entry(due: now))
    }

    /// Continues the search after a failed try: scans known channels at once.
    mutating func searchAgain(because cause: PolicyDecision.Cause) {
        search.begin(at: now, settings: settings)
        search.failed(because: cause)
        (scans[.known].due, scans[.full].due) = (now, scans[.full].due ?? now)
    }

    var searchMoments: [Instant?] {
        guard isReady, command == nil, !networks.isEmpty, !isHeld else { return [] }
        if let notBefore = search.notBefore { return scan == nil ? [notBefore] : [] }
        guard canScan else { return [unseenMoment] }
        return [knownPlaces.isEmpty ? nil : scans[.known].due, scans[.full].due, pauseEnd, unseenMoment]
    }

    /// When the first candidate that has to wait may be tried again.
    private var pauseEnd: Instant? {
        candidates().compactMap { candidate in
            history(of: candidate.network.id).pause(of: candidate.bss.bssid, after: now)
        }.min()
    }

    /// The channels on which networks of the list were ever seen.
    var knownPlaces: [Frequency] { Set(networks.flatMap { scanCache.places(of: $0.id) }).sorted() }

    /// The latest channel of the first network in the list that was ever seen.
    public var likeliestFrequency: Frequency? {
        for network in networks {
            if let frequency = scanCache.latest(of: network.id)?.frequency ?? scanCache.places(of: network.id).first {
                return frequency
            }
        }
        return nil
    }

    /// Joins the best network that was just seen, or scans for one.
    mutating func seek() {
        guard isInterfaceUp, !networks.isEmpty, !isHeld else { return }
        guard isSupplicantAvailable else { return scanEarly() }
        if let notBefore = search.notBefore {
            guard notBefore <= now else { return }
            search.notBefore = nil
        }
        let isForLeftOvers = search.hasScanned && !search.isReconnecting(at: now) && !isOneWaiting
        let best = bestCandidate() ?? (isForLeftOvers ? triedLongestAgo(isRefusing: false) : nil)
        // A failed network that is open again must not keep the others from their turn.
        // With no sound network in range, a blocked one may still work: never strand the device.
        if best?.rank.reputation != .sound, let moment = search.nextLastResort, moment <= now,
            let last = triedLongestAgo(isRefusing: true)
        {
            search.tookLastResort(at: now, settings: settings)
            join(last.network.id, at: last.bss, purpose: .automatic, cause: .lastResort)
        } else if let best, !search.wasQuick || isSure(best), !needsScanBefore(best) {
            join(best.network.id, at: best.bss, purpose: .automatic, cause: search.cause)
        } else if scans.isDue(.full, at: now) || scans.isDue(.known, at: now) && !knownPlaces.isEmpty {
            orderSearch()
        } else if command == nil, let unseenMoment, unseenMoment <= now {
            joinUnseen()
        } else if canScan {
            orderSearch()
        }
    }

    /// Scans while the supplicant starts, so that the device can join at once.
    private mutating func scanEarly() {
        guard command == nil, canScan, search.breadth == .nothing, let place = likelyPlaces().first else {
            return
        }
        search.scans(isQuick: true)
        orderScan([place], for: .known, as: .offline)
    }

    private mutating func orderSearch() {
        let places = knownPlaces
        if scans.isDue(.known, at: now), !places.isEmpty {
            let quickScan = quickScan()
            guard quickScan.isEmpty || quickScan.count == places.count else {
                search.scans(isQuick: true)
                orderScan(quickScan, for: .known, as: .offline)
                return
            }
            scanKnown(places)
        } else if scans.isDue(.full, at: now) {
            scanAll()
        } else if !search.isReported {
            search.isReported = true
            record(.search, .noCandidate, considered: considerations(choosing: nil))
        }
    }

    private mutating func scanKnown(_ places: [Frequency]) {
        search.scans(isQuick: false)
        // Every second for five minutes, then less often: after an hour, some seconds more do not matter.
        let interval = settings.scanInterval.known
        let wait = interval.wait(after: search.since.map { now - $0 } ?? .zero, part: Search.patience)
        orderScan(
            places, for: .known, as: .offline,
            then: otherUplink != nil
                ? interval.last : search.isReconnecting(at: now) ? min(wait, settings.reconnectScan) : wait)
    }

    private mutating func scanAll() {
        search.scans(isQuick: false)
        let wait = isPatient ? settings.patientFullScan : settings.fullScan.wait(after: scans[.full].count)
        orderScan([], for: .full, as: .offline, then: wait)
    }

    /// Whether a scan of all channels costs more than it is likely to find.
    private var isPatient: Bool { otherUplink != nil || search.since.map { now - $0 >= .seconds(3600) } ?? false }

    /// The channels to scan first. A channel takes 60 ms, so the likeliest is scanned alone. After an access point fell
    /// silent, the best network's other channels may be silent too, so all likely ones are scanned together.
    private func quickScan() -> [Frequency] {
        switch search.breadth {
        case .nothing where search.silence == nil: Array(likelyPlaces().prefix(1))
        case .nothing: likelyPlaces()
        case .likeliestPlace: Array(likelyPlaces().dropFirst())
        case .likelyPlaces, .wide: []
        }
    }

    /// The few channels on which a good network is most likely: the latest of each, best networks first, without the
    /// one on which the network in use has just fallen silent.
    private func likelyPlaces() -> [Frequency] {
        let open = networks.enumerated().filter { !isBlocked($0.element.id, at: now) }
        let seen = open.compactMap { order, network in
            scanCache.latest(of: network.id).map { candidate($0, of: network, order: order, at: now) }
        }.sorted { $0.rank < $1.rank }.map(\.network.id)
        // A network that was not seen since the start comes last, in the order of the list.
        let unseen = open.map(\.element.id).filter { !seen.contains($0) }
        let places = (seen + unseen).flatMap { network in
            let others = scanCache.places(of: network).filter {
                search.silence != Search.Place(network: network, frequency: $0)
            }
            // Other access points of the silent network may be near: all of their channels.
            return search.silence?.network == network ? others : Array(others.prefix(1))
        }
        var likely: [Frequency] = []
        for place in places where !likely.contains(place) { likely.append(place) }
        return Array(likely.prefix(Self.fewChannels))
    }

    private static let fewChannels = 4

    /// Whether a candidate is good enough to join without another scan.
    private func isSure(_ candidate: Candidate) -> Bool {
        candidate.rank.reputation == .sound && candidate.rank.quality == .good
            && !isUnverified(candidate.bss.bssid, of: candidate.network.id)
    }

    /// Whether to scan for a verified access point before trying a distrusted one.
    private func needsScanBefore(_ candidate: Candidate) -> Bool {
        !search.hasScanned && history(of: candidate.network.id).isDistrusted(candidate.bss.bssid, at: now)
    }

    func bestCandidate() -> Candidate? {
        let open = candidates().filter { isOpen($0, at: now) }
        // A failed network does not overtake one that only has to wait.
        guard let best = open.first(where: { !isToWait($0) }), best.rank.reputation <= open[0].rank.reputation
        else { return nil }
        return best
    }

    /// Whether an unverified candidate has to wait, because the lost access point may be back a moment after a loss.
    private func isToWait(_ candidate: Candidate) -> Bool {
        search.isReconnecting(at: now) && isUnverified(candidate.bss.bssid, of: candidate.network.id)
    }

    /// Whether a candidate is not blocked, and only has to wait.
    private var isOneWaiting: Bool {
        candidates().contains { candidate in
            let (history, bssid) = (history(of: candidate.network.id), candidate.bss.bssid)
            return history.pause(of: bssid, after: now) != nil && !history.isBlocked(bssid, orAllAt: now)
        }
    }

    /// Returns the access point that was tried longest ago, of those that need not wait. Blocks do not count, because
    /// there are no others. Nor does the signal, unless faint: the strongest one may have the wrong password.
    /// - Parameter isRefusing: whether it may have refused the key.
    private func triedLongestAgo(isRefusing: Bool) -> Candidate? {
        let all = accessPoints(at: now).filter { candidate in
            let history = history(of: candidate.network.id)
            return history.pause(of: candidate.bss.bssid, after: now) == nil
                && (isRefusing || !history.isRefusing(candidate.bss.bssid, at: now))
        }
        return networks.compactMap { network in
            all.filter { $0.network.id == network.id }.min { turns($0) < turns($1) }
        }.min { triedAt($0) < triedAt($1) }
    }

    /// When an access point was tried, or its network if it never was: anyone can copy a name.
    private func triedAt(_ candidate: Candidate) -> Instant {
        history(of: candidate.network.id).triedAt(candidate.bss.bssid) ?? triedAt(candidate.network.id)
    }

    func triedAt(_ network: NetworkID) -> Instant { history(of: network).triedAt ?? .distantPast }

    /// Whether an access point is faint, the last turn of it or its kind, and its own last try.
    private func turns(_ candidate: Candidate) -> (Int, Instant, Instant) {
        let (history, bssid) = (history(of: candidate.network.id), candidate.bss.bssid)
        return (
            candidate.rank.quality == .faint ? 1 : 0, history.turn(of: bssid),
            history.triedAt(bssid) ?? .distantPast
        )
    }
}

extension Instant {
    static let distantPast = Instant(milliseconds: .min / 2)
}

// A slow join does not stop scans: a wrong password shows after four seconds, a missing DHCP server after fifteen. The
// channels of the other networks are scanned meanwhile, and one with better prospects is joined instead.
extension FailoverPolicy {
    /// Time for a join before other networks are scanned for. A normal join takes 0.1 s.
    private static let patience = Duration.seconds(2)

    /// When an attempt that begins now may be replaced. A suspect network usually gets less time.
    func replaceable(_ network: NetworkID, from now: Instant) -> Instant {
        guard isSuspect(network) else { return now + Self.patience }
        // Twice its usual time: it may work again.
        return now + max(settings.scanInterval.known.first, (history(of: network).moves.gap ?? .zero) * 2)
    }

    func isSuspect(_ network: NetworkID) -> Bool {
        history(of: network).reputation(at: now) != .sound
    }

    /// When to see whether another network can replace an attempt.
    func replacementMoment(_ attempt: Attempt) -> Instant? {
        guard isReady, !isHeld, command == nil, canScan, let start = attempt.replaceableFrom,
            !places(besides: attempt.network).isEmpty
        else { return nil }
        return scans[.known].due.map { max($0, start) } ?? start
    }

    /// The channels on which other networks were ever seen.
    func places(besides network: NetworkID) -> [Frequency] {
        Set(networks.filter { $0.id != network }.flatMap { scanCache.places(of: $0.id) }).sorted()
    }

    /// Joins a network with better prospects than an attempt that takes long, or scans for one.
    mutating func seekReplacement(of attempt: Attempt) {
        guard isReady, !isHeld, let start = attempt.replaceableFrom, start <= now else { return }
        if let best = replacement(of: attempt) {
            // The first time counts as a failure, so that two slow networks do not replace each other for ever.
            guard isSuspect(attempt.network) else {
                return attemptFailed(attempt, attempt.lateFrom == nil ? .timeout : .noAddress, .inUse)
            }
            if attempt.cause == .preferred { returnFailed(attempt) }
            // There is no search if a living link was left for it.
            let cause = search.since == nil ? .failure(.timeout) : search.cause
            join(best.network.id, at: best.bss, purpose: .automatic, cause: cause)
        } else if isOneUnseen && scans.isDue(.full, at: now) || needsWideScan(for: attempt) {
            // Networks that replace each other must not keep the device from looking for one that was never seen.
            scanAll()
        } else if canScan, scans[.known].due.map({ $0 <= now }) ?? true {
            let places = places(besides: attempt.network)
            guard !places.isEmpty else { return }
            let isFirst = attempt.lateFrom.map { $0 <= now && !wasScanned(.known, since: $0) } ?? false
            scanKnown(isFirst ? Frequency.withUsual(places) : places)
        }
    }

    /// Whether an address is late, and known and usual channels have shown nothing better.
    private func needsWideScan(for attempt: Attempt) -> Bool {
        guard canScan, !isPatient, let start = attempt.lateFrom else { return false }
        return wasScanned(.known, since: start) && !wasScanned(.full, since: start)
    }

    private func wasScanned(_ need: ScanPlanner.Need, since start: Instant) -> Bool {
        scans[need].last.map { $0 >= start } ?? false
    }

    private func replacement(of attempt: Attempt) -> Candidate? {
        func isOther(_ candidate: Candidate) -> Bool { candidate.network.id != attempt.network }
        // The best network may be the one whose address is late.
        let isLate = attempt.lateFrom.map { $0 <= now } ?? false
        let best = isLate ? candidates().first { isOther($0) && isOpen($0, at: now) } : bestCandidate()
        guard let best, isOther(best) else { return nil }
        // A suspect network was joined although others were there: only networks seen since count.
        if isSuspect(attempt.network) { return attempt.rivals.contains(best.network.id) ? nil : best }
        return best.rank.reputation == .sound && best.rank.quality == .good ? best : nil
    }
}
