import AgentModel

/// Plans the scans: when each one is due, whether there is air time for it, and which one runs.
///
/// The planner knows no networks. The policy says what a scan is for, and on which channels.
struct ScanPlanner: Sendable {
    /// Reason for a scan.
    enum Need {
        /// Find a network to join: on known channels, or on all.
        case known, full
        case command
        /// Find something better than a link in trouble, or a stronger access point than that of a fine link.
        case escape, stronger
        /// Know where to go if the next probe means that the link has no internet.
        case lookAround
        case unseen, preferred, standby
        /// The access point in use has asked the device to move.
        case transition
    }

    /// The scans of one need.
    struct Entry: Hashable, Sendable {
        /// Start of the need.
        var since: Instant?
        /// Time of the next scan; nil for none.
        var due: Instant?
        /// Scans since the start.
        var count = 0
        /// Time of the last scan.
        var last: Instant?
        /// Time of the last scan of all channels.
        var lastFull: Instant?
        /// Whether the history says already that nothing was found.
        var isReported = false
    }

    private var needs: [Need: Entry] = [:]
    /// The scan that runs, its start, and when to give it up.
    var running: (order: ScanOrder, since: Instant, deadline: Instant)?
    /// The scans that the radio has refused since the last one that it did.
    var refused = RefusedScans()
    /// Time when a scan of all channels last ended well, whatever it was for.
    private(set) var surveyedAt: Instant?
    private var budget = ScanBudget()
    private var orders: UInt64 = 0

    subscript(need: Need) -> Entry {
        get { needs[need] ?? Entry() }
        set { needs[need] = newValue }
    }

    /// Whether the radio can scan now.
    var isFree: Bool { running == nil && refused.pauseEnd == nil }

    func isDue(_ need: Need, at now: Instant) -> Bool { isFree && self[need].due.map { $0 <= now } ?? false }

    /// Starts a scan, or makes it due when there is air time for it.
    /// - Parameters:
    ///   - frequencies: channels to scan; all if empty.
    ///   - hidden: hidden networks to call by name. A radio calls only the first ones, so each scan begins elsewhere.
    ///   - share: air time in thousandths; nil for a scan that needs none.
    ///   - isSparing: whether half of a scan of all channels has to stay saved.
    ///   - wait: time until the next scan; nil to leave it as it is.
    /// - Returns: the scan; nil if it has to wait.
    mutating func next(
        _ frequencies: [Frequency], for need: Need, as reason: ScanOrder.Reason, hidden: [SSID], share: Int?,
        isSparing: Bool, then wait: Duration?, at now: Instant, settings: PolicySettings
    ) -> ScanOrder? {
        if let share,
            let time = budget.spend(on: frequencies, share: share, isSparing: isSparing, at: now, settings: settings)
        {
            self[need].due = now + time
            return nil
        }
        orders += 1
        let first = hidden.isEmpty ? 0 : Int(orders % UInt64(hidden.count))
        let order = ScanOrder(
            id: orders, frequencies: frequencies, ssids: Array(hidden[first...] + hidden[..<first]), reason: reason)
        running = (order, now, now + settings.scanLimit)
        self[need].count += 1
        self[need].last = now
        if frequencies.isEmpty { self[need].lastFull = now }
        if let wait { self[need].due = now + wait }
        return order
    }

    /// Ends the running scan, if it has this number.
    /// - Parameter isOnLink: whether its duration is that of a scan from a living link.
    /// - Returns: the scan and its start; nil if another one runs.
    mutating func ended(
        _ id: UInt64, isComplete: Bool, isOnLink: Bool, at now: Instant
    ) -> (order: ScanOrder, since: Instant)? {
        guard let (order, since, _) = running, order.id == id else { return nil }
        running = nil
        if isComplete {
            refused = RefusedScans()
            if order.frequencies.isEmpty {
                surveyedAt = now
                if isOnLink { budget.measured(now - since) }
            }
        }
        return (order, since)
    }

    /// Scans all channels again for networks that are new in the list.
    /// - Parameter unseen: time of the first scan while the link is fine.
    mutating func startOver(at now: Instant, unseen: Instant) {
        (self[.unseen], surveyedAt) = (Entry(due: unseen), nil)
        // A link that is bad may be left for a new network, wherever that is.
        if self[.escape].due != nil { (self[.escape].due, self[.escape].count, self[.escape].lastFull) = (now, 0, nil) }
    }
}

/// The air time that scans may take on a living link: it comes in at an even pace, and can be saved up to a limit.
struct ScanBudget: Hashable, Sendable {
    /// Time for a scan of one channel, and of all of them until that was measured. The radio returns to its own channel
    /// in between (Docs/contributor/testing.md).
    static let channelTime = Duration.milliseconds(100)
    static let firstFullScan = Duration.seconds(6)
    /// Minimum duration that counts. A faster answer came from a cache.
    private static let shortestFullScan = Duration.seconds(1)

    private var fullScan = firstFullScan
    /// Air time saved up; nil for the whole reserve.
    private var saved: Duration?
    private var since: Instant?

    private func cost(of frequencies: [Frequency], _ settings: PolicySettings) -> Duration {
        // A scan longer than the reserve could never be paid.
        let full = min(fullScan, settings.scanReserve)
        return frequencies.isEmpty ? full : min(Self.channelTime * frequencies.count, full)
    }

    /// Takes the price of a scan out of the budget, or leaves it.
    /// - Parameters:
    ///   - share: air time in thousandths.
    ///   - isSparing: whether half of a scan of all channels has to remain, for a link that turns bad.
    /// - Returns: time until the scan can be paid for; nil if it was.
    mutating func spend(
        on frequencies: [Frequency], share: Int, isSparing: Bool = false, at now: Instant, settings: PolicySettings
    ) -> Duration? {
        let earned = since.map { (now - $0) * share / 1000 } ?? .zero
        let saved = min(settings.scanReserve, (saved ?? settings.scanReserve) + earned)
        since = now
        let cost = cost(of: frequencies, settings)
        let needed = min(settings.scanReserve, cost + (isSparing ? self.cost(of: [], settings) / 2 : .zero))
        self.saved = saved >= needed ? saved - cost : saved
        return saved >= needed ? nil : max(.seconds(1), (needed - saved) * 1000 / max(1, share))
    }

    /// Notes how long a scan of all channels took. One answered within half a second was ordered by another program.
    mutating func measured(_ time: Duration) {
        guard time >= Self.shortestFullScan / 2 else { return }
        fullScan = max(time, Self.shortestFullScan)
    }
}
