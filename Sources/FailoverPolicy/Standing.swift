import AgentModel

/// What the device has experienced with a network, as far as it matters for joining it again.
struct Standing: Hashable {
    /// Failures to join it since it last worked.
    private(set) var block: Block?
    /// The same of those of its access points that others could stand in for.
    private var blocks: [BSSID: Block] = [:]
    /// It was joined, and led nowhere or to a login page.
    private(set) var uselessness: Block?
    /// It was just lost or not found: it has to be seen again before it is joined again.
    private(set) var goneSince: Instant?
    /// When it was last set out for.
    private(set) var triedAt: Instant?
    /// Since when scans look for it in vain.
    private var missedSince: Instant?

    /// The worst that is held against a network that is not blocked.
    enum Reputation: Int, Comparable {
        case sound
        /// It could not be joined, or led nowhere, the last time.
        case suspect
        /// It leads nowhere, and somebody was there to see.
        case useless
        /// It wants a person to log in.
        case captive

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    func reputation(at now: Instant) -> Reputation {
        if let uselessness, uselessness.isActive(at: now) {
            return uselessness.failure == .captive ? .captive : .useless
        }
        return block == nil && uselessness == nil ? .sound : .suspect
    }

    func isBlocked(at now: Instant) -> Bool { block?.isActive(at: now) ?? false }

    func isBlocked(_ bssid: BSSID, at now: Instant) -> Bool { blocks[bssid]?.isActive(at: now) ?? false }

    /// Why the last attempt to use it failed; nil once one succeeded.
    var lastFailure: JoinFailure? { block?.failure ?? uselessness?.failure }

    // MARK: What happened

    mutating func setOut(at now: Instant) { triedAt = now }

    mutating func gone(at now: Instant) { goneSince = now }

    mutating func isBack() { goneSince = nil }

    /// - Returns: whether the network is blocked by it.
    mutating func failed(_ failure: JoinFailure, signal: Int?, at now: Instant, settings: PolicySettings) -> Bool {
        var block = block ?? Block(failure)
        defer { self.block = block }
        return block.strike(failure, signal: signal, at: now, settings: settings)
    }

    /// One access point failed, and there are others: the network is not to blame.
    mutating func failed(
        at bssid: BSSID, _ failure: JoinFailure, signal: Int?, at now: Instant, settings: PolicySettings
    ) {
        var block = blocks[bssid] ?? Block(failure)
        _ = block.strike(failure, signal: signal, at: now, settings: settings)
        blocks[bssid] = block
        if blocks.count > Air.accessPointsPerNetwork,
            let oldest = blocks.min(by: { ($0.value.order, $0.key) < ($1.value.order, $1.key) })
        {
            blocks[oldest.key] = nil
        }
    }

    mutating func worked(at bssid: BSSID) {
        block = nil
        blocks[bssid] = nil
        goneSince = nil
        missedSince = nil
    }

    mutating func wasUseless(_ failure: JoinFailure, at now: Instant, settings: PolicySettings) {
        var block = uselessness ?? Block(failure)
        _ = block.strike(failure, signal: nil, at: now, settings: settings)
        uselessness = block
    }

    mutating func wasUseful() { uselessness = nil }

    mutating func missed(at now: Instant) { missedSince = missedSince ?? now }

    /// A scan found an access point of it.
    ///
    /// - Parameter isNew: nothing had been seen of it before.
    mutating func seen(_ bss: BSS, isNew: Bool, at now: Instant, settings: PolicySettings) {
        if blocks[bss.bssid]?.isOutdated(by: bss, settings: settings) ?? false { blocks[bss.bssid] = nil }
        if block?.isOutdated(by: bss, settings: settings) ?? false { block = nil }
        // It was away and is back: whoever restarted it may have mended it.
        if let missedSince, now - missedSince >= settings.reappearance, !isNew {
            block?.pardon(at: now)
            uselessness?.pardon(at: now)
        }
        missedSince = nil
    }
}

extension Block {
    /// Those that matter least come first.
    fileprivate var order: Instant { until ?? Instant(milliseconds: .min) }
}
