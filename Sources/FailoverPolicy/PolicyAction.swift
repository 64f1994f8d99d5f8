import AgentModel

/// Everything that the policy wants done. Whoever carries it out answers with events.
public enum PolicyAction: Sendable, Equatable {
    /// Leave what is joined, if anything is, and join this. Replaces an earlier order that has not ended.
    case join(LinkTarget)
    /// Be joined to nothing.
    case leave
    case scan(ScanOrder)
    /// End the scan that is under way: the radio is needed for something better.
    case cancelScan
    /// Measure the signal of the current link at this interval, and whenever it falls below the threshold in dBm; nil
    /// ends it.
    case watchSignal(SignalWatch?)
    case bringInterfaceUp
    /// For the history: what was decided, and why.
    case record(PolicyDecision)
    /// How the commanded switch with this number goes.
    case switchProgress(id: UInt64, SwitchProgress)
}

/// A network to join, and where it was last seen.
public struct LinkTarget: Hashable, Sendable {
    public let network: NetworkID
    /// Channels to look for it on. Empty if it is not known where it is.
    public let frequencies: [Frequency]
    /// Comes back with the outcome, so that an answer to an earlier order is known as such.
    public let epoch: UInt64
}

public struct ScanOrder: Hashable, Sendable {
    /// Comes back with the result.
    public let id: UInt64
    /// Channels to scan; all that are allowed if it is empty.
    public let frequencies: [Frequency]
    /// Hidden networks to call by name.
    public let ssids: [SSID]
    public let reason: Reason

    public enum Reason: String, Sendable {
        /// Nothing is joined: find something to join.
        case offline
        /// All is well: find out where the other networks are, before that is needed.
        case survey
        /// The link is weak: find something better.
        case weak
        /// A commanded switch joins only what it sees.
        case commanded
    }
}

public struct SignalWatch: Hashable, Sendable {
    public let threshold: Int
    public let interval: Duration
}

/// A commanded switch from its acceptance to its one outcome.
public enum SwitchProgress: Hashable, Sendable {
    case accepted
    case joining
    case waitingForAddress
    /// The device is online on the network it was sent to.
    case committed
    /// It did not work, and the device is where it was before.
    case rolledBack(JoinFailure)
    /// It did not work, and there was nothing to go back to, or going back did not work either.
    case failed(JoinFailure)

    public var isFinal: Bool {
        switch self {
        case .accepted, .joining, .waitingForAddress: false
        case .committed, .rolledBack, .failed: true
        }
    }
}
