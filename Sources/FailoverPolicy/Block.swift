import AgentModel

/// What is held against a network that failed.
struct Block: Hashable {
    private(set) var failure: JoinFailure
    /// Failures of this kind in a row, and of any kind.
    private(set) var strikes = 0
    private var failures = 0
    /// How often it was blocked in a row, without a success in between.
    private(set) var blocks = 0
    private(set) var until: Instant?
    /// The network's signal when it was blocked, in dBm.
    private var signal: Int?

    init(_ failure: JoinFailure) { self.failure = failure }

    /// Counts one more failure.
    /// - Returns: whether the network is blocked by it.
    mutating func strike(
        _ failure: JoinFailure, signal: Int?, at now: Instant, settings: PolicySettings
    ) -> Bool {
        strikes = failure == self.failure ? strikes + 1 : 1
        failures += 1
        self.failure = failure
        let isWrongKey = failure == .wrongKey && strikes >= settings.wrongKeyStrikes
        guard isWrongKey || strikes >= failure.strikes(in: settings) || failures >= settings.transientStrikes else {
            return false
        }
        let backOff = isWrongKey ? settings.wrongKeyBlock : settings.transientBlock
        until = now + backOff.wait(after: blocks)
        blocks += 1
        strikes = 0
        failures = 0
        self.signal = signal
        return true
    }

    func isActive(at now: Instant) -> Bool { until.map { $0 > now } ?? false }

    /// Whether a new sight of the network is reason enough to forget the block: a signal that was too weak then may do
    /// now, but a key does not become right by getting closer.
    func isOutdated(by bss: BSS, settings: PolicySettings) -> Bool {
        guard failure != .wrongKey, let signal else { return false }
        return bss.signal >= signal + settings.unblockGain
    }
}

extension JoinFailure {
    /// Whether it says anything about the network, and not only about the device.
    var isOfTheNetwork: Bool { self != .supplicantUnavailable && self != .interfaceDown }

    /// How many in a row it takes to block a network.
    fileprivate func strikes(in settings: PolicySettings) -> Int {
        switch self {
        case .wrongKey: settings.wrongKeyStrikes
        case .noAddress: settings.noAddressStrikes
        case .accessPointFull, .rejected, .notFound: 1
        case .timeout, .linkLost: settings.transientStrikes
        case .captive, .noInternet, .unconfirmed, .interrupted: .max
        // Not the network's fault.
        case .supplicantUnavailable, .interfaceDown: .max
        }
    }
}
