import AgentModel

/// The device's experience with a network, as far as it matters for joining it again.
struct NetworkHistory: Hashable {
    /// Failures to join it since it last worked.
    private(set) var block: Block?
    /// The same of those of its access points that others could stand in for.
    private var blocks: [BSSID: Block] = [:]
    /// How many of its access points failed since it last worked, and how often a new one was given the benefit of the
    /// doubt.
    private var failedAccessPoints = 0
    private var pardons = 0
    private static let patience = 3

    /// It was joined, and led nowhere or to a login page.
    private(set) var uselessness: Block?
    /// Over which of its access points.
    private var deadEnds = DeadEnds()
    /// Since when it leads somewhere again.
    private var usefulSince: Instant?
    /// It was just lost or not found: it has to be seen again before it is joined again.
    private(set) var goneSince: Instant?
    /// When it was last set out for, and for which of its access points.
    private(set) var triedAt: Instant?
    private var tries: [BSSID: Instant] = [:]
    /// The access points that its key has opened, and what is held against the others as long as there are such.
    private(set) var proven = ProvenAccessPoints()
    private var unprovenBlock: Block?
    private var unprovenTriedAt: Instant?
    /// When it may be tried again after it failed where there was nothing else, and when its unproven access points
    /// may.
    private var retries = Retries()
    private var unprovenRetries = Retries()
    /// Since when scans look for it in vain.
    private var missedSince: Instant?
    /// What moves to it take, and how long links to it last.
    var moves = SwitchStatistics()

    /// The worst that is held against a network that is not blocked.
    enum Reputation: Int, Comparable {
        case sound
        /// It could not be joined, or led nowhere, the last time.
        case suspect
        /// It leads nowhere, and a probe has shown it.
        case useless
        /// It wants a user to log in.
        case captive

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        /// Of what leads nowhere for this reason.
        init(_ failure: JoinFailure) { self = failure == .captive ? .captive : .useless }
    }

    func reputation(at now: Instant) -> Reputation {
        guard usefulSince == nil, let uselessness else { return block == nil ? .sound : .suspect }
        guard uselessness.isActive(at: now) else { return .suspect }
        return Reputation(uselessness.failure)
    }

    func isBlocked(at now: Instant) -> Bool { block?.isActive(at: now) ?? false }

    func isBlocked(_ bssid: BSSID, at now: Instant) -> Bool { blocks[bssid]?.isActive(at: now) ?? false }

    /// Whether it is held against the network, or against this access point, that its key is wrong.
    func isRefusing(_ bssid: BSSID, at now: Instant) -> Bool {
        [block, blocks[bssid]].compactMap(\.self).contains { $0.isActive(at: now) && $0.failure.isOfTheCredential }
    }

    /// Until when an access point has to wait for its next try, which nothing else forbids.
    func pause(of bssid: BSSID, after now: Instant) -> Instant? {
        (isUnproven(bssid) ? unprovenRetries : retries).end(after: now)
    }

    /// Why the last attempt to use it failed; nil once one succeeded.
    var lastFailure: JoinFailure? { block?.failure ?? (usefulSince == nil ? uselessness?.failure : nil) }

    // MARK: Events

    mutating func setOut(for bssid: BSSID?, at now: Instant) {
        triedAt = now
        guard let bssid else { return }
        if isUnproven(bssid) { unprovenTriedAt = now }
        tried(bssid, at: now)
    }

    private mutating func tried(_ bssid: BSSID, at now: Instant) {
        tries[bssid] = now
        tries.forgetEarliest(beyond: ScanCache.accessPointsPerNetwork, but: proven.contains) { $0 }
    }

    func triedAt(_ bssid: BSSID) -> Instant? { tries[bssid] }

    /// If the network failed, its access points take turns, and the one whose turn it was longest ago is next. Each
    /// that the key has opened has a turn of its own. All others share one: so in a round each proven access point in
    /// range is tried once, and one of the others.
    func turn(of bssid: BSSID) -> Instant {
        (isUnproven(bssid) ? unprovenTriedAt : tries[bssid]) ?? .distantPast
    }

    mutating func gone(at now: Instant) { goneSince = now }

    mutating func isBack() { goneSince = nil }

    /// - Parameter isAlone: nothing else can be joined, so it is not blocked but for a wrong key.
    /// - Returns: whether the network is blocked by it.
    mutating func failed(
        _ failure: JoinFailure, isFailedMove: Bool, isAlone: Bool, signal: Int?, at now: Instant,
        settings: PolicySettings
    ) -> Bool {
        var block = block ?? Block(failure)
        defer { self.block = block }
        return block.strike(
            failure, isFailedMove: isFailedMove, isSpared: isAlone && !failure.isOfTheCredential, signal: signal,
            at: now,
            settings: settings)
    }

    /// It had an address, and has none any more: it has to show that it can do better, but that is no strike.
    mutating func lostAddress() { block = block ?? Block(.noAddress) }

    /// It failed, or let the device in and threw it out again at once: the next try waits a moment.
    mutating func stumbled(after outage: Duration, at now: Instant, settings: PolicySettings) {
        retries.stumbled(after: outage, at: now, settings: settings)
    }

    /// A link to it lasted for a while.
    mutating func held() { retries.recovered() }

    /// One access point failed, and there are others: the network is not to blame.
    mutating func failed(
        at bssid: BSSID, _ failure: JoinFailure, signal: Int?, at now: Instant, settings: PolicySettings
    ) {
        failedAccessPoints += 1
        var block = blocks[bssid] ?? Block(failure)
        // One handshake that failed may be lost frames, also where there are other access points to try.
        _ = block.strike(failure, isDecisive: failure != .wrongKey, signal: signal, at: now, settings: settings)
        keep(block, of: bssid)
    }

    private mutating func keep(_ block: Block, of bssid: BSSID) {
        blocks[bssid] = block
        // Those that block nothing matter least.
        blocks.forgetEarliest(beyond: ScanCache.accessPointsPerNetwork, but: proven.contains) {
            $0.until ?? .distantPast
        }
    }

    mutating func joined() {
        goneSince = nil
        missedSince = nil
    }

    /// The device has a link to it with an address: what failed before is forgotten.
    mutating func worked(at bssid: BSSID) {
        block = nil
        blocks[bssid] = nil
        tries = [:]
        failedAccessPoints = 0
        pardons = 0
    }

    /// Whether a failure may be one access point's alone. If one after the other fails, it is the network.
    var blamesAccessPoints: Bool { failedAccessPoints < Self.patience }

    /// - Parameter bssid: the access point that the link was to.
    mutating func wasUseless(
        _ failure: JoinFailure, over bssid: BSSID?, at now: Instant, settings: PolicySettings
    ) {
        if let bssid {
            tried(bssid, at: now)
            deadEnds.ledNowhere(bssid, failure, at: now, settings: settings)
        }
        // It was joined for want of others, or by another access point: that is no second time.
        guard reputation(at: now) < .useless else { return }
        var block = (wasUselessLately(at: now, settings: settings) ? uselessness : nil) ?? Block(failure)
        _ = block.strike(failure, signal: nil, at: now, settings: settings)
        uselessness = block
        usefulSince = nil
    }

    mutating func wasUseful(over bssid: BSSID, at now: Instant) {
        deadEnds.leads(bssid)
        guard uselessness != nil else { return }
        usefulSince = usefulSince ?? now
    }

    /// Whether it leads nowhere, or did not long ago: what comes and goes is not trusted at once.
    func wasUselessLately(at now: Instant, settings: PolicySettings) -> Bool {
        uselessness != nil && usefulSince.map { now - $0 < settings.usefulProbation } ?? true
    }

    /// An access point that was not tried since the network worked last: it may do what the others did not. Names are
    /// free to take, so that happens only so often.
    mutating func seenUntried(_ bss: BSS, at now: Instant) {
        guard let block, block.isActive(at: now), tries[bss.bssid] == nil, pardons < Self.patience else { return }
        pardons += 1
        self.block?.pardon(at: now)
    }

    // MARK: Access points that its key has opened

    /// Whether an access point is unproven: the key has opened others, and not this one.
    func isUnproven(_ bssid: BSSID) -> Bool { !proven.isEmpty && !proven.contains(bssid) }

    /// Whether it is unproven, and an unproven one has failed of late.
    func isDoubted(_ bssid: BSSID, at now: Instant) -> Bool {
        isUnproven(bssid) && (unprovenBlock?.isActive(at: now) ?? false)
    }

    /// Whether the network led nowhere over an access point of late.
    func isDeadEnd(_ bssid: BSSID, at now: Instant) -> Bool { deadEnds.contains(bssid, at: now) }

    /// When that was found.
    func deadSince(_ bssid: BSSID) -> Instant? { deadEnds.since(bssid) }

    func reputation(of bssid: BSSID, at now: Instant) -> Reputation {
        if let failure = deadEnds.failure(of: bssid, at: now) { return Reputation(failure) }
        // Where the network leads nowhere over others, it may lead somewhere over this one.
        let most: Reputation = deadEnds.spare(bssid, at: now) ? .suspect : .captive
        let least: Reputation = isDoubted(bssid, at: now) || isDeadEnd(bssid, at: now) ? .suspect : .sound
        return max(least, min(most, reputation(at: now)))
    }

    mutating func remember(_ bssid: BSSID) { proven.remember(bssid) }

    /// A handshake with the network's key is done: the key is right, and so is the access point.
    mutating func opened(_ bssid: BSSID) {
        if isUnproven(bssid) {
            unprovenBlock = nil
            unprovenRetries.recovered()
        }
        proven.opened(bssid)
        if block?.failure.isOfTheCredential ?? false { block = nil }
        if blocks[bssid]?.failure.isOfTheCredential ?? false { blocks[bssid] = nil }
    }

    /// An unproven access point failed: that says nothing about the network, nor about the access points that its key
    /// has opened.
    mutating func unprovenFailed(
        at bssid: BSSID, _ failure: JoinFailure, isFailedMove: Bool, signal: Int?, after outage: Duration,
        at now: Instant, settings: PolicySettings
    ) {
        var block = blocks[bssid] ?? Block(failure)
        _ = block.strike(
            failure, isDecisive: failure != .wrongKey, isFailedMove: isFailedMove, signal: signal, at: now,
            settings: settings)
        keep(block, of: bssid)
        var unprovenBlock = unprovenBlock ?? Block(failure)
        _ = unprovenBlock.strike(failure, isDecisive: true, signal: nil, at: now, settings: settings)
        self.unprovenBlock = unprovenBlock
        unprovenRetries.stumbled(after: outage, at: now, settings: settings)
    }

    mutating func missed(at now: Instant) { missedSince = missedSince ?? now }

    /// A scan found an access point of it.
    mutating func seen(_ bss: BSS, at now: Instant, settings: PolicySettings) {
        if blocks[bss.bssid]?.isOutdated(by: bss, settings: settings) ?? false { blocks[bss.bssid]?.pardon(at: now) }
        if block?.isOutdated(by: bss, settings: settings) ?? false { block?.pardon(at: now) }
        // It was away and is back: a restart may have mended it.
        guard let missedSince, bss.lastSeen > missedSince else { return }
        self.missedSince = nil
        guard now - missedSince >= settings.reappearance else { return }
        block?.pardon(at: now)
        uselessness?.pardon(at: now)
        deadEnds.pardon(at: now)
    }
}

/// When something that went wrong may be tried again where there is nothing else to try: soon, and never in a hot loop.
struct Retries: Hashable {
    private var stumbles = 0
    private var until: Instant?

    /// - Parameter outage: how long the device has been offline: what failed for an hour is not mended by the second.
    mutating func stumbled(after outage: Duration, at now: Instant, settings: PolicySettings) {
        // The first time may have been bad luck.
        let wait = stumbles == 0 ? .zero : settings.retry.wait(after: stumbles - 1)
        until =
            now
            + (stumbles < 2 ? wait : max(wait, settings.scanInterval.known.wait(after: outage, part: Search.patience)))
        stumbles += 1
    }

    mutating func recovered() { self = Retries() }

    /// When the wait ends; nil where there is none.
    func end(after now: Instant) -> Instant? { until.flatMap { $0 > now ? $0 : nil } }
}

/// The access points of one network that have completed a handshake with its key: names are free to take, and the key
/// is not.
struct ProvenAccessPoints: Hashable {
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

    /// The key had opened it before the device started: what it has opened since counts more.
    mutating func remember(_ bssid: BSSID) {
        guard !contains(bssid), all.count < Self.maximum else { return }
        all.append(bssid)
    }
}

extension Dictionary where Key: Comparable {
    /// Lets go of entries where there are more than `limit`: of those with the earliest moments.
    ///
    /// - Parameter isKept: whether an entry is not counted, and never let go of.
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
