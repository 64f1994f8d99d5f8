import AgentModel

/// A penalty of a network, or one of its access points, for a while.
struct Penalty: Hashable {
    private(set) var failure: JoinFailure
    /// Failures of this kind in a row, and of any kind.
    private var strikes = 0
    private var failures = 0
    /// How often it was imposed in a row, without a success in between.
    private(set) var count = 0
    private(set) var until: Instant?
    /// When it was imposed.
    private(set) var since = Instant.distantPast
    /// The strongest signal at which it was imposed, in dBm.
    private var signal: Int?

    init(_ failure: JoinFailure) { self.failure = failure }

    /// Counts one more failure.
    ///
    /// - Parameters:
    ///   - isDecisive: whether one failure is enough.
    ///   - isFailedMove: a link that worked was given up for it, which must not happen often.
    ///   - isSpared: whether there is nothing else to join, so that it blocks nothing.
    /// - Returns: whether it leads to a block.
    mutating func strike(
        _ failure: JoinFailure, isDecisive: Bool = false, isFailedMove: Bool = false, isSpared: Bool = false,
        signal: Int? = nil, at now: Instant, settings: PolicySettings
    ) -> Bool {
        strikes = failure == self.failure ? strikes + 1 : 1
        failures += 1
        self.failure = failure
        if isSpared { return false }
        // After a block one more failure renews it.
        let rule = failure.rule(in: settings) ?? (strikes: .max, wait: settings.transientBlock)
        let isDecided = isDecisive || isFailedMove || count > 0 || strikes >= rule.strikes
        // Failures of several kinds do not prove the last one.
        guard isDecided || failures >= settings.transientStrikes else { return false }
        let isForMove = isFailedMove && !failure.isOfTheCredential
        let waits = isForMove ? settings.failedMoveBlock : isDecided ? rule.wait : settings.transientBlock
        hold(for: waits.wait(after: count), at: now)
        (strikes, failures) = (0, 0)
        self.signal = [self.signal, signal].compactMap(\.self).max()
        return true
    }

    mutating func hold(for time: Duration, at now: Instant) {
        until = now + time
        since = now
        count += 1
    }

    func isActive(at now: Instant) -> Bool { end(after: now) != nil }

    /// When it ends; nil if it has ended.
    func end(after now: Instant) -> Instant? { until.flatMap { $0 > now ? $0 : nil } }

    /// Whether it is active, or ended no longer ago than it lasted.
    func isRemembered(at now: Instant) -> Bool { until.map { now < $0 + max(.zero, $0 - since) } ?? false }

    /// Ends it early. The next failure is judged as if there had been no pardon.
    mutating func pardon(at now: Instant) { until = until.map { min($0, now) } }

    /// Whether a new observation ends it: a signal that was too weak may do now, but a wrong key stays wrong.
    func isOutdated(by bss: BSS, settings: PolicySettings) -> Bool {
        guard !failure.isOfTheCredential, let signal else { return false }
        return bss.signal >= signal + settings.unblockGain
    }
}

/// The penalties of one network: each by its reason, for the network and for single access points of it.
struct Penalties: Hashable {
    enum Reason {
        /// It could not be joined: it is blocked.
        case join
        /// It has no internet, or a login page: it ranks last.
        case internet
        /// An unverified access point failed: all unverified ones rank later.
        case unverified
        /// It failed: the next try waits, even where nothing else can be joined. Unverified access points wait apart.
        case retry, unverifiedRetry
    }

    private var ofNetwork: [Reason: Penalty] = [:]
    private var ofAccessPoints: [Reason: [BSSID: Penalty]] = [:]

    /// - Parameter bssid: an access point; nil for the network.
    subscript(reason: Reason, bssid: BSSID? = nil) -> Penalty? {
        get { bssid.map { ofAccessPoints[reason]?[$0] } ?? ofNetwork[reason] }
        set {
            guard let bssid else { return ofNetwork[reason] = newValue }
            ofAccessPoints[reason, default: [:]][bssid] = newValue
        }
    }

    func isActive(_ reason: Reason, _ bssid: BSSID? = nil, at now: Instant) -> Bool {
        self[reason, bssid]?.isActive(at: now) ?? false
    }

    func isAnyAccessPointActive(_ reason: Reason, at now: Instant) -> Bool {
        ofAccessPoints[reason]?.values.contains { $0.isActive(at: now) } ?? false
    }

    /// Changes the penalty for a failure, and keeps as many access points as a network may have.
    /// - Parameter isKept: whether an access point is kept beyond that.
    /// - Returns: the result of `change`.
    @discardableResult
    mutating func add(
        _ reason: Reason, _ bssid: BSSID? = nil, _ failure: JoinFailure, but isKept: (BSSID) -> Bool = { _ in false },
        _ change: (inout Penalty) -> Bool
    ) -> Bool {
        var penalty = self[reason, bssid] ?? Penalty(failure)
        let result = change(&penalty)
        self[reason, bssid] = penalty
        // Penalties that block nothing matter least.
        ofAccessPoints[reason]?.forgetEarliest(beyond: ScanCache.accessPointsPerNetwork, but: isKept) {
            $0.until ?? .distantPast
        }
        return result
    }

    /// Ends all of a reason early, for the network and for its access points.
    mutating func pardon(
        _ reason: Reason, at now: Instant, where isPardoned: (Penalty) -> Bool = { _ in true }
    ) {
        for bssid in [nil] + (ofAccessPoints[reason] ?? [:]).keys.map(Optional.init) {
            if let penalty = self[reason, bssid], isPardoned(penalty) { self[reason, bssid]?.pardon(at: now) }
        }
    }
}

extension JoinFailure {
    /// Whether it says anything about the network, and not only about the device or the app.
    var isOfTheNetwork: Bool { rule(in: PolicySettings()) != nil }

    /// Whether it concerns the credential, which no signal improves.
    var isOfTheCredential: Bool { self == .wrongKey || self == .certificateRefused }

    /// Whether another access point of the same network may well do better.
    var isOfTheAccessPoint: Bool { isOfTheNetwork && ![.noAddress, .captive, .noInternet].contains(self) }

    /// Failures in a row for a penalty, and its duration; nil where it is not the network's fault. A less secure access
    /// point may be another's with the same name.
    fileprivate func rule(in settings: PolicySettings) -> (strikes: Int, wait: BackOff)? {
        switch self {
        case .wrongKey: (settings.wrongKeyStrikes, settings.wrongKeyBlock)
        // Lost frames do not change a certificate.
        case .certificateRefused: (1, settings.wrongKeyBlock)
        case .accessPointFull: (1, settings.fullBlock)
        case .noAddress: (settings.noAddressStrikes, settings.noAddressBlock)
        case .captive: (1, settings.captiveBlock)
        case .noInternet: (1, settings.noInternetBlock)
        case .rejected, .notFound: (1, settings.transientBlock)
        case .timeout, .linkLost: (settings.transientStrikes, settings.transientBlock)
        case .lessSecure, .unsupportedSecurity, .unconfirmed, .interrupted, .supplicantUnavailable, .interfaceDown: nil
        }
    }
}
