import AgentModel

/// Everything that the policy wants done. The runner carries it out and answers with events.
public enum PolicyAction: Sendable, Equatable, Codable {
    /// Leave the current network, if any, and join this. Replaces an earlier order that has not ended.
    case join(LinkTarget)
    /// Leave the current network, and join none.
    case leave
    /// Join this with the spare station, and leave the link in use as it is. Replaces an earlier such order.
    case joinBeside(LinkTarget)
    /// Use the spare station's link with this epoch from now on, however far it has come. Leave the previous one, after
    /// a while if it lives.
    case useSuccessor(epoch: UInt64)
    /// Give up the spare station's link with this epoch. The link in use stays as it is.
    case leaveSuccessor(epoch: UInt64)
    case scan(ScanOrder)
    /// End the scan that is under way: the radio is needed for something better.
    case cancelScan
    /// Measure the signal of the current link; nil ends it.
    case watchSignal(SignalWatch?)
    /// Probe the link with this epoch for internet access, and report in time. Only ordered where
    /// `PolicySettings.validation` is set.
    case probe(epoch: UInt64, within: Duration)
    case bringInterfaceUp
    /// Add this decision to the history.
    case record(PolicyDecision)
    /// Store this durably before carrying out the actions that follow.
    case store(StoreWrite)
    /// Report the progress of the commanded switch with this number.
    case switchProgress(id: UInt64, SwitchProgress)

    // Names of unlabelled values in a record.
    private enum JoinCodingKeys: String, CodingKey { case _0 = "target" }
    private enum JoinBesideCodingKeys: String, CodingKey { case _0 = "target" }
    private enum ScanCodingKeys: String, CodingKey { case _0 = "order" }
    private enum WatchSignalCodingKeys: String, CodingKey { case _0 = "watch" }
    private enum RecordCodingKeys: String, CodingKey { case _0 = "decision" }
    private enum StoreCodingKeys: String, CodingKey { case _0 = "write" }
    private enum SwitchProgressCodingKeys: String, CodingKey { case id, _1 = "progress" }
}

/// A network to join, and where it was last seen.
public struct LinkTarget: Hashable, Sendable, Codable {
    public let network: NetworkID
    /// The access point to join; nil for any of the network's.
    public let bssid: BSSID?
    /// Channels to look for it on; empty if unknown.
    public let frequencies: [Frequency]
    /// The security that the access point was seen to offer; nil for any of the network's.
    public let offer: Security?
    /// Returned with the outcome, to recognize answers to earlier orders.
    public let epoch: UInt64
    /// Whether to join it without a scan, because the radio refuses scans.
    public var isUnseen: Bool { unseen ?? false }
    /// Nil for false, so that records omit it.
    private let unseen: Bool?

    public init(
        network: NetworkID, bssid: BSSID?, frequencies: [Frequency], offer: Security?, epoch: UInt64,
        isUnseen: Bool = false
    ) {
        self.network = network
        self.bssid = bssid
        self.frequencies = frequencies
        self.offer = offer
        self.epoch = epoch
        unseen = isUnseen ? true : nil
    }

    private enum CodingKeys: String, CodingKey {
        case network, bssid, frequencies, offer, epoch, unseen = "isUnseen"
    }
}

public struct ScanOrder: Hashable, Sendable, Codable {
    /// Returned with the result.
    public let id: UInt64
    /// Channels to scan; empty for all allowed ones.
    public let frequencies: [Frequency]
    /// Hidden networks to call by name.
    public let ssids: [SSID]
    public let reason: Reason

    public init(id: UInt64, frequencies: [Frequency], ssids: [SSID], reason: Reason) {
        self.id = id
        self.frequencies = frequencies
        self.ssids = ssids
        self.reason = reason
    }

    public enum Reason: String, Sendable, CaseIterable, Codable {
        /// Nothing is joined: find something to join.
        case offline
        /// The link is fine: find the other networks before they are needed.
        case unseen = "survey"
        /// The link is weak: find something better.
        case weak
        /// The link has no internet access: find one that has.
        case unusable
        /// The device is not in the network that it belongs in: is that one back?
        case preferred
        /// Find a network to stand by.
        case standby
        /// A commanded switch joins only what it sees.
        case commanded
    }
}

/// How to measure the signal of the link.
public struct SignalWatch: Hashable, Sendable, Codable {
    /// Threshold in dBm. The kernel reports when the signal crosses it, where the driver can.
    public let threshold: Int
    /// Interval of measurements besides.
    public let interval: Duration
    /// Interval of measurements where the driver cannot watch the threshold.
    public let unsupervisedInterval: Duration

    public init(threshold: Int, interval: Duration, unsupervisedInterval: Duration) {
        self.threshold = threshold
        self.interval = interval
        self.unsupervisedInterval = unsupervisedInterval
    }
}

/// State that the policy wants remembered over a restart.
public enum StoreWrite: Hashable, Sendable, Codable {
    /// The commanded switch with this number has ended. If committed, its target is the network that the device belongs
    /// in.
    case switchEnded(id: UInt64, isCommitted: Bool)
}

/// A commanded switch from its acceptance to its one outcome.
public enum SwitchProgress: Hashable, Sendable, Codable {
    case accepted
    case joining
    case waitingForAddress
    /// Address and route are there, and internet access is being checked.
    case validating
    /// The network is up, and the app has to confirm over it.
    case waitingForConfirmation
    /// The device is online on the network it was sent to.
    case committed
    /// It did not work, and the device is where it was before.
    case rolledBack(JoinFailure)
    /// It did not work, and there was nothing to go back to, or going back did not work either.
    case failed(JoinFailure)

    private enum RolledBackCodingKeys: String, CodingKey { case _0 = "failure" }
    private enum FailedCodingKeys: String, CodingKey { case _0 = "failure" }

    public var isFinal: Bool {
        switch self {
        case .accepted, .joining, .waitingForAddress, .validating, .waitingForConfirmation: false
        case .committed, .rolledBack, .failed: true
        }
    }
}
