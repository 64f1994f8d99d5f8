import AgentModel

/// A block of a network that failed, or of one of its access points.
struct Block: Hashable {
    private(set) var failure: JoinFailure
    /// Failures of this kind in a row, and of any kind.
    private var strikes = 0
    private var failures = 0
    /// How often it was blocked in a row, without a success in between.
    private(set) var blocks = 0
    private(set) var until: Instant?
    /// The strongest signal at which it was blocked, in dBm.
    private var signal: Int?

    init(_ failure: JoinFailure) { self.failure = failure }

    /// Counts one more failure.
    ///
    /// - Parameters:
    ///   - isDecisive: it takes no second one.
    ///   - isFailedMove: a link that worked was given up for it, which must not happen often.
    ///   - isSpared: there is nothing else to join, so it blocks nothing.
    /// - Returns: whether it leads to a block.
    mutating func strike(
        _ failure: JoinFailure, isDecisive: Bool = false, isFailedMove: Bool = false, isSpared: Bool = false,
        signal: Int?, at now: Instant, settings: PolicySettings
    ) -> Bool {
        strikes = failure == self.failure ? strikes + 1 : 1
        failures += 1
        self.failure = failure
        if isSpared { return false }
        // After a block one more failure renews it.
        let isDecided = isDecisive || isFailedMove || blocks > 0 || strikes >= failure.strikes(in: settings)
        // Failures of several kinds that add up say nothing certain of the last one.
        guard isDecided || failures >= settings.transientStrikes else { return false }
        let backOff = isDecided ? failure.backOff(in: settings) : settings.transientBlock
        until =
            now + (isFailedMove && !failure.isOfTheCredential ? settings.failedMoveBlock : backOff).wait(after: blocks)
        blocks += 1
        strikes = 0
        failures = 0
        self.signal = [self.signal, signal].compactMap(\.self).max()
        return true
    }

    func isActive(at now: Instant) -> Bool { until.map { $0 > now } ?? false }

    /// Ends a block early. The next failure is judged as if there had been no pardon.
    mutating func pardon(at now: Instant) { until = until.map { min($0, now) } }

    /// Whether a new observation is reason enough to end the block: a signal that was too weak then may do now, but a
    /// key does not become right by getting closer.
    func isOutdated(by bss: BSS, settings: PolicySettings) -> Bool {
        guard !failure.isOfTheCredential, let signal else { return false }
        return bss.signal >= signal + settings.unblockGain
    }
}

extension JoinFailure {
    /// Whether it says anything about the network, and not only about the device or the app.
    var isOfTheNetwork: Bool {
        switch self {
        case .wrongKey, .accessPointFull, .notFound, .rejected, .certificateRefused, .timeout, .linkLost, .noAddress,
            .captive, .noInternet:
            true
        // Its name may be borne by another's access point.
        case .lessSecure, .unsupportedSecurity: false
        case .unconfirmed, .interrupted, .supplicantUnavailable, .interfaceDown: false
        }
    }

    /// Whether it is about what both ends know of each other, which no signal makes better.
    var isOfTheCredential: Bool { self == .wrongKey || self == .certificateRefused }

    /// Whether another access point of the same network may well do better.
    var isOfTheAccessPoint: Bool {
        switch self {
        case .wrongKey, .accessPointFull, .notFound, .rejected, .certificateRefused, .timeout, .linkLost: true
        case .noAddress, .captive, .noInternet, .lessSecure, .unsupportedSecurity, .unconfirmed, .interrupted,
            .supplicantUnavailable, .interfaceDown:
            false
        }
    }

    /// How many in a row it takes for a block.
    fileprivate func strikes(in settings: PolicySettings) -> Int {
        switch self {
        case .wrongKey: settings.wrongKeyStrikes
        case .noAddress: settings.noAddressStrikes
        case .accessPointFull, .rejected, .certificateRefused, .notFound, .captive, .noInternet: 1
        case .timeout, .linkLost: settings.transientStrikes
        // Not the network's fault.
        case .lessSecure, .unsupportedSecurity, .unconfirmed, .interrupted, .supplicantUnavailable, .interfaceDown: .max
        }
    }

    fileprivate func backOff(in settings: PolicySettings) -> BackOff {
        switch self {
        // No lost frame makes a certificate another one.
        case .wrongKey, .certificateRefused: settings.wrongKeyBlock
        case .accessPointFull: settings.fullBlock
        case .noAddress: settings.noAddressBlock
        case .captive: settings.captiveBlock
        case .noInternet: settings.noInternetBlock
        case .rejected, .notFound, .timeout, .linkLost, .lessSecure, .unsupportedSecurity, .unconfirmed, .interrupted,
            .supplicantUnavailable, .interfaceDown:
            settings.transientBlock
        }
    }
}
