import AgentModel

/// How often living links were left lately, so that nothing becomes a dance.
struct RoamDamping: Hashable, Sendable {
    /// When living links were left by the policy's own decision, as far back as the limits look: for another network, and for another
    /// access point of their own.
    private var departures: [Instant] = []
    private var roams: [Instant] = []
    /// Access points that were left for being weak.
    private var left: [BSSID: Instant] = [:]
    /// Returns to one of them.
    private var returns: [Instant] = []

    private static let accessPoints = 16

    func allowsDeparture(at now: Instant, settings: PolicySettings) -> Bool {
        departures.count { now - $0 <= settings.switchLimitWindow } < settings.switchLimit
    }

    func allowsRoam(at now: Instant, settings: PolicySettings) -> Bool {
        roams.count { now - $0 <= settings.switchLimitWindow } < settings.roamLimit
    }

    /// - Parameter isRoam: whether the link goes over to another access point of its network.
    mutating func departs(
        from bssid: BSSID, to target: BSSID, isRoam: Bool, at now: Instant, settings: PolicySettings
    ) {
        departures.removeAll { now - $0 > settings.switchLimitWindow }
        roams.removeAll { now - $0 > settings.switchLimitWindow }
        if isRoam { roams.append(now) } else { departures.append(now) }
        returns = returns.filter { now - $0 <= settings.dampingWindow }
        left = left.filter { now - $0.value <= settings.dampingWindow }
        if left[target] != nil, returns.count * settings.dampingStep < settings.dampingLimit { returns.append(now) }
        left[bssid] = now
        left.forgetEarliest(beyond: Self.accessPoints) { $0 }
    }

    /// Whether an access point was left so lately that going back is going back and forth.
    func wasLeft(_ bssid: BSSID, at now: Instant, settings: PolicySettings) -> Bool {
        left[bssid].map { now - $0 <= settings.switchLimitWindow } ?? false
    }

    /// How much more than the margin an access point has to be better, in dB, for having been left lately.
    func damping(of bssid: BSSID, at now: Instant, settings: PolicySettings) -> Int {
        guard let leftAt = left[bssid], now - leftAt <= settings.dampingWindow else { return 0 }
        let recent = returns.count { now - $0 <= settings.dampingWindow }
        return min(settings.dampingLimit, settings.dampingStep * (recent + 1))
    }
}

/// Links that were up and were lost, by access point: one that lets the device in and throws it out again is not
/// blocked for that, but another that is as good comes first.
struct Losses: Hashable, Sendable {
    private var moments: [BSSID: [Instant]] = [:]

    private static let accessPoints = 16

    mutating func lost(_ bssid: BSSID, at now: Instant, settings: PolicySettings) {
        let recent = moments[bssid, default: []].filter { now - $0 <= settings.lossWindow }
        moments[bssid] = Array((recent + [now]).suffix(settings.lossLimit))
        moments.forgetEarliest(beyond: Self.accessPoints) { $0.last ?? .distantPast }
    }

    /// Whether links to it were lost again and again of late.
    func isUnstable(_ bssid: BSSID, at now: Instant, settings: PolicySettings) -> Bool {
        guard let lost = moments[bssid] else { return false }
        return lost.count { now - $0 <= settings.lossWindow } >= settings.lossLimit
    }
}
