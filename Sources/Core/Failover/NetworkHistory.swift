import AgentModel

/// The device's experience with a network, as far as it matters for joining it again.
struct NetworkHistory: Hashable {
    /// Penalties of the network and its access points. A join penalty counts failures since it last worked.
    private var penalties = Penalties()
    /// Number of its access points that failed since it last worked, and of pardons for new ones.
    var failedAccessPoints = 0
    private var pardons = 0
    private static let patience = 3

    /// When it got internet access again.
    private var usefulSince: Instant?
    /// When it was lost or not found. It has to be seen again before it is joined again.
    var goneSince: Instant?
    /// Time of the last try of the network, and of each access point.
    private(set) var triedAt: Instant?
    private var tries: [BSSID: Instant] = [:]
    /// The access points that its key has opened.
    private(set) var verified = VerifiedAccessPoints()
    private var unverifiedTriedAt: Instant?
    /// Time of the first scan in vain since it was last seen.
    private var missedSince: Instant?
    /// Join times, and how long links to it last.
    var moves = SwitchStatistics()

    /// The worst problem of a network that is not blocked.
    enum Reputation: Int, Comparable {
        case sound
        /// It could not be joined, or had no internet access, the last time.
        case suspect
        /// A probe has shown that it has no internet access.
        case useless
        /// It requires a login.
        case captive

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        /// Reputation for missing internet access with this reason.
        init(_ failure: JoinFailure) { self = failure == .captive ? .captive : .useless }
    }

    // MARK: Queries

    /// Penalty for failures to join it since it last worked.
    var block: Penalty? { penalties[.join] }

    /// Penalty for no internet access, or a login page, after a join.
    var uselessness: Penalty? { penalties[.internet] }

    func reputation(at now: Instant) -> Reputation {
        guard usefulSince == nil, let uselessness else { return block == nil ? .sound : .suspect }
        return uselessness.isActive(at: now) ? Reputation(uselessness.failure) : .suspect
    }

    func reputation(of bssid: BSSID, at now: Instant) -> Reputation {
        let end = penalties[.internet, bssid]
        if let end, end.isActive(at: now) { return Reputation(end.failure) }
        let isDeadEnd = end?.isRemembered(at: now) ?? false
        // This access point may have internet access where others of the network have none.
        let isSpare = !isDeadEnd && penalties.isAnyAccessPointActive(.internet, at: now)
        let least: Reputation = isDistrusted(bssid, at: now) || isDeadEnd ? .suspect : .sound
        return max(least, min(isSpare ? .suspect : .captive, reputation(at: now)))
    }

    /// - Parameter bssid: an access point; nil for the network.
    func isBlocked(_ bssid: BSSID? = nil, at now: Instant) -> Bool { penalties.isActive(.join, bssid, at: now) }

    /// Whether an access point is blocked, or its network.
    func isBlocked(_ bssid: BSSID, orAllAt now: Instant) -> Bool { isBlocked(at: now) || isBlocked(bssid, at: now) }

    /// Whether the network, or this access point, is blocked for a wrong credential.
    func isRefusing(_ bssid: BSSID, at now: Instant) -> Bool {
        [nil, bssid].contains { penalties.isActive(.join, $0, at: now) && isOfTheCredential($0) }
    }

    private func isOfTheCredential(_ bssid: BSSID?) -> Bool {
        penalties[.join, bssid]?.failure.isOfTheCredential ?? false
    }

    /// End of the pause before an access point's next try, apart from blocks; nil for none.
    func pause(of bssid: BSSID, after now: Instant) -> Instant? {
        penalties[isUnverified(bssid) ? .unverifiedRetry : .retry]?.end(after: now)
    }

    /// Why the last attempt to use it failed; nil once one succeeded.
    var lastFailure: JoinFailure? { block?.failure ?? (usefulSince == nil ? uselessness?.failure : nil) }

    func triedAt(_ bssid: BSSID) -> Instant? { tries[bssid] }

    /// When an access point last had its turn. The access points of a failed network take turns, the earliest first.
    /// Each verified one has its own turn, and all others share one: so a round tries each verified access point in
    /// range, and one other.
    func turn(of bssid: BSSID) -> Instant {
        (isUnverified(bssid) ? unverifiedTriedAt : tries[bssid]) ?? .distantPast
    }

    /// Whether a failure may be the access point's alone. After three, the network is to blame.
    var blamesAccessPoints: Bool { failedAccessPoints < Self.patience }

    /// Whether the network has no internet access, or had none until recently.
    func wasUselessLately(at now: Instant, settings: PolicySettings) -> Bool {
        uselessness != nil && usefulSince.map { now - $0 < settings.usefulProbation } ?? true
    }

    /// Whether the key has opened other access points, and not this one.
    func isUnverified(_ bssid: BSSID) -> Bool { !verified.isEmpty && !verified.contains(bssid) }

    /// Whether it is unverified, and an unverified one has failed lately.
    func isDistrusted(_ bssid: BSSID, at now: Instant) -> Bool {
        isUnverified(bssid) && penalties.isActive(.unverified, at: now)
    }

    /// Whether an access point lately had no internet access.
    func isDeadEnd(_ bssid: BSSID, at now: Instant) -> Bool {
        penalties[.internet, bssid]?.isRemembered(at: now) ?? false
    }

    /// When an access point was last penalized for no internet access.
    func deadSince(_ bssid: BSSID) -> Instant? { penalties[.internet, bssid]?.since }

    // MARK: Events

    mutating func setOut(for bssid: BSSID?, at now: Instant) {
        triedAt = now
        guard let bssid else { return }
        if isUnverified(bssid) { unverifiedTriedAt = now }
        tried(bssid, at: now)
    }

    private mutating func tried(_ bssid: BSSID, at now: Instant) {
        tries[bssid] = now
        tries.forgetEarliest(beyond: ScanCache.accessPointsPerNetwork, but: verified.contains) { $0 }
    }

    /// - Parameter isAlone: nothing else can be joined, so only a wrong credential blocks it.
    /// - Returns: whether this blocks the network.
    mutating func failed(
        _ failure: JoinFailure, isFailedMove: Bool, isAlone: Bool, signal: Int?, at now: Instant,
        settings: PolicySettings
    ) -> Bool {
        penalties.add(.join, nil, failure) {
            $0.strike(
                failure, isFailedMove: isFailedMove, isSpared: isAlone && !failure.isOfTheCredential, signal: signal,
                at: now, settings: settings)
        }
    }

    /// It lost its address: it becomes suspect, without a strike.
    mutating func lostAddress() { penalties.add(.join, nil, .noAddress) { _ in false } }

    /// Delays the next try after a failure or a short link, even where nothing else can be tried.
    /// - Parameter outage: how long the device has been offline. A longer outage means a longer wait.
    mutating func stumbled(
        _ failure: JoinFailure, ofUnverified isUnverified: Bool = false, after outage: Duration, at now: Instant,
        settings: PolicySettings
    ) {
        penalties.add(isUnverified ? .unverifiedRetry : .retry, nil, failure) { penalty in
            // The first time may have been bad luck.
            let wait = penalty.count == 0 ? .zero : settings.retry.wait(after: penalty.count - 1)
            let known = settings.scanInterval.known.wait(after: outage, part: Search.patience)
            penalty.hold(for: penalty.count < 2 ? wait : max(wait, known), at: now)
            return true
        }
    }

    /// A link to it lasted for a while.
    mutating func held() { penalties[.retry] = nil }

    /// One access point failed, and there are others: the network is not to blame.
    mutating func failed(
        at bssid: BSSID, _ failure: JoinFailure, isFailedMove: Bool = false, signal: Int?, at now: Instant,
        settings: PolicySettings
    ) {
        // One failed handshake may be lost frames, also where other access points can be tried.
        penalties.add(.join, bssid, failure, but: verified.contains) {
            $0.strike(
                failure, isDecisive: failure != .wrongKey, isFailedMove: isFailedMove, signal: signal, at: now,
                settings: settings)
        }
    }

    /// An unverified access point failed: that says nothing about the network, nor about the access points that its key
    /// has opened.
    mutating func unverifiedFailed(
        at bssid: BSSID, _ failure: JoinFailure, isFailedMove: Bool, signal: Int?, after outage: Duration,
        at now: Instant, settings: PolicySettings
    ) {
        failed(at: bssid, failure, isFailedMove: isFailedMove, signal: signal, at: now, settings: settings)
        penalties.add(.unverified, nil, failure) {
            $0.strike(failure, isDecisive: true, at: now, settings: settings)
        }
        stumbled(failure, ofUnverified: true, after: outage, at: now, settings: settings)
    }

    mutating func joined() { (goneSince, missedSince) = (nil, nil) }

    /// The device has a link to it with an address: what failed before is forgotten.
    mutating func worked(at bssid: BSSID) {
        (penalties[.join], penalties[.join, bssid]) = (nil, nil)
        tries = [:]
        (failedAccessPoints, pardons) = (0, 0)
    }

    /// - Parameter bssid: the access point that the link was to.
    mutating func wasUseless(
        _ failure: JoinFailure, over bssid: BSSID?, at now: Instant, settings: PolicySettings
    ) {
        if let bssid {
            tried(bssid, at: now)
            penalties.add(.internet, bssid, failure) {
                $0.isActive(at: now) || $0.strike(failure, at: now, settings: settings)
            }
        }
        // It was joined for want of others, or by another access point: that does not count twice.
        guard reputation(at: now) < .useless else { return }
        if !wasUselessLately(at: now, settings: settings) { penalties[.internet] = nil }
        penalties.add(.internet, nil, failure) { $0.strike(failure, at: now, settings: settings) }
        usefulSince = nil
    }

    mutating func wasUseful(over bssid: BSSID, at now: Instant) {
        penalties[.internet, bssid] = nil
        guard uselessness != nil else { return }
        usefulSince = usefulSince ?? now
    }

    mutating func remember(_ bssid: BSSID) { verified.remember(bssid) }

    /// A handshake with the network's key is done: the key is right, and so is the access point.
    mutating func opened(_ bssid: BSSID) {
        if isUnverified(bssid) { (penalties[.unverified], penalties[.unverifiedRetry]) = (nil, nil) }
        verified.opened(bssid)
        for subject in [nil, bssid] where isOfTheCredential(subject) { penalties[.join, subject] = nil }
    }

    mutating func missed(at now: Instant) { missedSince = missedSince ?? now }

    /// Pardons the network for an access point not tried since it last worked, three times at most: anyone can copy a
    /// name.
    mutating func seenUntried(_ bss: BSS, at now: Instant) {
        guard isBlocked(at: now), tries[bss.bssid] == nil, pardons < Self.patience else { return }
        pardons += 1
        penalties[.join]?.pardon(at: now)
    }

    /// There is no internet access since `start`: a first failure before does not count now. Further ones do, so that
    /// the device does not go to and fro.
    mutating func needed(since start: Instant, at now: Instant) {
        penalties.pardon(.join, at: now) { $0.count == 1 && $0.since < start && !$0.failure.isOfTheCredential }
    }

    /// A scan found an access point of it.
    mutating func seen(_ bss: BSS, at now: Instant, settings: PolicySettings) {
        for subject in [nil, bss.bssid]
        where penalties[.join, subject]?.isOutdated(by: bss, settings: settings) ?? false {
            penalties[.join, subject]?.pardon(at: now)
        }
        // It was away and is back: a restart may have repaired it.
        guard let missedSince, bss.lastSeen > missedSince else { return }
        self.missedSince = nil
        guard now - missedSince >= settings.reappearance else { return }
        penalties[.join]?.pardon(at: now)
        penalties.pardon(.internet, at: now)
    }
}

/// The access points of one network that have completed a handshake with its key. A name can be copied, and the key
/// cannot.
struct VerifiedAccessPoints: Hashable {
    /// How many are remembered, also over a restart.
    static let maximum = 4

    /// The one that the key opened last comes first.
    private(set) var all: [BSSID] = []

    var isEmpty: Bool { all.isEmpty }

    func contains(_ bssid: BSSID) -> Bool { all.contains(bssid) }

    /// The key has opened it.
    mutating func opened(_ bssid: BSSID) {
        guard all.first != bssid else { return }
        all = Array(([bssid] + all.filter { $0 != bssid }).prefix(Self.maximum))
    }

    /// The key opened it before the device started. Later handshakes count more.
    mutating func remember(_ bssid: BSSID) {
        guard !contains(bssid), all.count < Self.maximum else { return }
        all.append(bssid)
    }
}

extension Dictionary where Key: Comparable {
    /// Removes the entries with the earliest moments beyond `limit`.
    ///
    /// - Parameter isKept: whether an entry is not counted, and never removed.
    mutating func forgetEarliest(
        beyond limit: Int, but isKept: (Key) -> Bool = { _ in false }, by moment: (Value) -> Instant
    ) {
        guard count > limit else { return }
        let others = filter { !isKept($0.key) }
        guard others.count > limit else { return }
        let earliest = others.sorted { (moment($0.value), $0.key) < (moment($1.value), $1.key) }
        for entry in earliest.prefix(others.count - limit) { self[entry.key] = nil }
    }
}
