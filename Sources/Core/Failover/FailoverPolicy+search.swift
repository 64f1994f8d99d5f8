import AgentModel

/// How the search goes while nothing is joined.
struct Search: Sendable, Hashable {
    /// Why the device is searching.
    var cause = PolicyDecision.Cause.start
    /// The place of an access point that fell silent: not the first to scan.
    var silence: Place?
    private(set) var since: Instant?
    private var lastResorts = 0
    private(set) var nextLastResort: Instant?
    /// Time before which nothing is joined, because the last try failed through the device itself; nil for none.
    var notBefore: Instant?
    /// Until when the device scans known channels at short intervals.
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

    /// - Parameter isQuick: whether the scan is of one channel or a few, and a wider one follows at once if it shows
    ///   nothing good.
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

    /// A network was just blocked: the others get their chance first. One that fails again and again must not hold up
    /// the last resort for ever, so this is the shortest wait.
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
    /// Something changed: scan at once, all channels too.
    mutating func searchAnew() {
        search.begin(at: now, settings: settings)
        search.notBefore = nil
        (scans[.known], scans[.full]) = (ScanPlanner.Entry(due: now), ScanPlanner.Entry(due: now))
    }

    /// A try failed: scan known channels at once.
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

    /// When the first of those may be tried again that were just seen, and have to wait.
    private var pauseEnd: Instant? {
        candidates().compactMap { candidate in
            history(of: candidate.network.id).pause(of: candidate.bss.bssid, after: now)
        }.min()
    }

    /// The channels on which networks of the list were ever seen.
    var knownPlaces: [Frequency] { Set(networks.flatMap { scanCache.places(of: $0.id) }).sorted() }

    /// Where a network of the list was seen last, of the most preferred one that was.
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
        // One that failed and is open again must not keep the others from their turn.
        // With no sound network in range, one that is blocked may still be right: never strand the device.
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

    /// While the supplicant is starting the radio has nothing to do: what is seen meanwhile can be joined at once.
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
        // Every second in the first five minutes, and then more patiently: an outage of some seconds more or less is
        // felt after five minutes, not after an hour.
        let interval = settings.scanInterval.known
        let wait = interval.wait(after: search.since.map { now - $0 } ?? .zero, part: Search.patience)
        orderScan(
            places, for: .known, as: .offline,
            then: otherUplink != nil
                ? interval.last : search.isReconnecting(at: now) ? min(wait, settings.reconnectScan) : wait)
    }

    private mutating func scanAll() {
        search.scans(isQuick: false)
        let isPatient = otherUplink != nil || search.since.map { now - $0 >= .seconds(3600) } ?? false
        let wait = isPatient ? settings.patientFullScan : settings.fullScan.wait(after: scans[.full].count)
        orderScan([], for: .full, as: .offline, then: wait)
    }

    /// The channels to scan before all others. A channel takes 60 ms, so the likeliest comes alone; but after an access
    /// point fell silent, the best network's other places may be silent with it, and the others are scanned together
    /// with them.
    private func quickScan() -> [Frequency] {
        switch search.breadth {
        case .nothing where search.silence == nil: Array(likelyPlaces().prefix(1))
        case .nothing: likelyPlaces()
        case .likeliestPlace: Array(likelyPlaces().dropFirst())
        case .likelyPlaces, .wide: []
        }
    }

    /// The few channels on which something good is most likely found: each network's latest, of the best networks
    /// first, and not the one on which the network in use has just fallen silent.
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
            // Of the network that fell silent other access points may be near: all of their channels.
            return search.silence?.network == network ? others : Array(others.prefix(1))
        }
        var likely: [Frequency] = []
        for place in places where !likely.contains(place) { likely.append(place) }
        return Array(likely.prefix(Self.fewChannels))
    }

    private static let fewChannels = 4

    /// Whether there is no point in scanning for a better one.
    private func isSure(_ candidate: Candidate) -> Bool {
        candidate.rank.reputation == .sound && candidate.rank.quality == .good
            && !isUnverified(candidate.bss.bssid, of: candidate.network.id)
    }

    /// Before every try of an access point that is distrusted, the device scans for one that the key has opened.
    private func needsScanBefore(_ candidate: Candidate) -> Bool {
        !search.hasScanned && history(of: candidate.network.id).isDistrusted(candidate.bss.bssid, at: now)
    }

    func bestCandidate() -> Candidate? {
        let open = candidates().filter { isOpen($0, at: now) }
        // One that failed does not overtake one that only has to wait.
        guard let best = open.first(where: { !isToWait($0) }), best.rank.reputation <= open[0].rank.reputation
        else { return nil }
        return best
    }

    /// A moment after a loss the access point that was lost may be back. Meanwhile nothing else that bears the name is
    /// tried, unless its network's key has opened it.
    private func isToWait(_ candidate: Candidate) -> Bool {
        search.isReconnecting(at: now) && isUnverified(candidate.bss.bssid, of: candidate.network.id)
    }

    /// Whether a candidate only waits, and is there in a moment.
    private var isOneWaiting: Bool {
        candidates().contains { candidate in
            let (history, bssid) = (history(of: candidate.network.id), candidate.bss.bssid)
            return history.pause(of: bssid, after: now) != nil && !history.isBlocked(bssid, orAllAt: now)
        }
    }

    /// Returns the access point that was tried longest ago, of those that do not wait. A block helps the others, and
    /// there are none. The strongest one may be the one with the wrong password.
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

    /// An access point that was never tried counts as its network: names are free to take.
    private func triedAt(_ candidate: Candidate) -> Instant {
        history(of: candidate.network.id).triedAt(candidate.bss.bssid) ?? triedAt(candidate.network.id)
    }

    func triedAt(_ network: NetworkID) -> Instant { history(of: network).triedAt ?? .distantPast }

    /// Whether an access point is faint, when it was its turn or that of its like, and when its own.
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

// A join that drags on does not make the device blind: a wrong password shows after four seconds, a missing DHCP server
// after fifteen. The channels of the other networks are scanned meanwhile, and one with better prospects is joined
// instead.
extension FailoverPolicy {
    /// How long an access point may take to let the device in before others are scanned for; it takes a tenth of a
    /// second.
    private static let patience = Duration.seconds(2)

    /// When an attempt that begins now may be replaced. One that is not the first has had its time.
    func replaceable(_ network: NetworkID, from now: Instant) -> Instant {
        guard isSuspect(network) else { return now + Self.patience }
        // Twice what it takes: it may be as good as ever.
        return now + max(settings.scanInterval.known.first, (history(of: network).moves.gap ?? .zero) * 2)
    }

    func isSuspect(_ network: NetworkID) -> Bool {
        history(of: network).reputation(at: now) != .sound
    }

    /// When to see whether another network can take an attempt's place.
    func replacementMoment(_ attempt: Attempt) -> Instant? {
        guard isReady, command == nil, canScan, let start = attempt.replaceableFrom,
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
        guard isReady, let start = attempt.replaceableFrom, start <= now else { return }
        if let best = bestCandidate(), isBetter(best, than: attempt) {
            // The first time that counts as a failure: two that are slow must not take each other's place for ever.
            guard isSuspect(attempt.network) else {
                return attemptFailed(attempt, .timeout, .inUse)
            }
            if attempt.cause == .preferred { returnFailed(attempt) }
            // There is no search where a living link was left for it.
            let cause = search.since == nil ? .failure(.timeout) : search.cause
            join(best.network.id, at: best.bss, purpose: .automatic, cause: cause)
        } else if isOneUnseen, scans.isDue(.full, at: now) {
            // Networks that take each other's place would keep the device from ever looking for one that was never seen.
            scanAll()
        } else if canScan, scans[.known].due.map({ $0 <= now }) ?? true {
            let places = places(besides: attempt.network)
            guard !places.isEmpty else { return }
            scanKnown(places)
        }
    }

    private func isBetter(_ candidate: Candidate, than attempt: Attempt) -> Bool {
        guard candidate.network.id != attempt.network else { return false }
        // A suspect one was joined for a reason though others were there: what has come since counts.
        guard !isSuspect(attempt.network) else { return !attempt.rivals.contains(candidate.network.id) }
        return candidate.rank.reputation == .sound && candidate.rank.quality == .good
    }
}
