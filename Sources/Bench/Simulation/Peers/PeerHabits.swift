import AgentModel

/// What sets one connection manager apart from another, as far as it decides where the device is.
public struct PeerHabits: Sendable, Hashable {
    /// Which of the networks in range is tried first.
    public var preference: Preference
    /// Whether access points are believed to be there for 30 s after they were heard, or only if the scan just done showed
    /// them.
    public var trustsMemory = false
    /// Whether the first scans look only at channels on which known networks were seen before.
    public var looksWhereItKnows = false
    /// From a lost link to the first scan.
    public var afterLoss = Duration.zero
    /// After a loss only the network that was lost is looked for, for this long.
    public var loyalty = Duration.zero
    /// Waits between scans that found nothing to join; the last one for ever.
    public var scanWaits: [Duration]
    /// What is done when a join failed.
    public var afterFailure: AfterFailure
    /// How long a network is left alone after each refusal of the key in a row; nil: for ever.
    public var wrongKeyBlocks: [Duration?] = []
    /// The same for an access point after other failures. Lifted where there is nothing else to join.
    public var failureBlocks: [Duration?] = []
    /// From the order to join until the access point has let the device in.
    public var joinLimit: Duration
    /// From there until there is an address; nil: as long as it takes.
    public var addressLimit: Duration?
    /// Whether and how a living link is left; nil: never.
    public var roaming: Roaming?

    public enum Preference: Sendable, Hashable {
        /// The strongest access point.
        case signal
        /// The network with the higher priority, then the strongest access point.
        case priorityThenSignal
        /// The network with the higher priority, then the one that was used last.
        case priorityThenRecency
        /// Signal and recency weighed against each other.
        case signalTimesRecency
    }

    public enum AfterFailure: Sendable, Hashable {
        /// The next best of the same scan is tried; scans go on when none is left.
        case nextCandidate
        /// Another scan after this wait, which depends on the number of failures in a row.
        case scan(waits: [Duration])
    }

    /// How a better access point is looked for while the link lives.
    public struct Roaming: Sendable, Hashable {
        /// Looked for only while the signal is below this, in dBm.
        public var belowTwoPointFour: Int
        public var belowFive: Int
        public var every: Duration
        /// By how many dB another access point has to be stronger.
        public var gain: Int
        /// At most so many searches on one link.
        public var attempts: Int = .max
        /// Whether access points of other networks count as well.
        public var crossesNetworks = false

        func threshold(for frequency: Frequency?) -> Int {
            frequency.map { $0.band != .twoPointFour } ?? false ? belowFive : belowTwoPointFour
        }
    }
}

extension [Duration] {
    /// The wait after `count` earlier ones: the last one is for ever.
    func wait(after count: Int) -> Duration { self[Swift.min(count, self.count - 1)] }
}
