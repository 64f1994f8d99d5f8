import AgentModel

/// Everything that the policy wants done. The runner carries it out and answers with events.
public enum PolicyAction: Sendable, Equatable, Codable {
    /// Leave what is joined, if anything is, and join this. Replaces an earlier order that has not ended.
    case join(LinkTarget)
    /// Be joined to nothing.
    case leave
    /// Join this with the spare station, and leave the link in use as it is. Replaces an earlier such order.
    case joinBeside(LinkTarget)
    /// The link of the spare station with this epoch is the link in use from now on, however far it has come. The one
    /// before is left, after a while if it lives.
    case useSuccessor(epoch: UInt64)
    /// Give up what was joined beside with this epoch. The link in use stays as it is.
    case leaveSuccessor(epoch: UInt64)
    case scan(ScanOrder)
    /// End the scan that is under way: the radio is needed for something better.
    case cancelScan
    /// Measure the signal of the current link; nil ends it.
    case watchSignal(SignalWatch?)
    /// Find out whether the link with this epoch leads to what the device needs, and say so in time. Only asked for
    /// where `PolicySettings.validation` is set.
    case probe(epoch: UInt64, within: Duration)
    case bringInterfaceUp
    /// For the history: what was decided, and why.
    case record(PolicyDecision)
    /// To be stored durably before the actions that follow are carried out.
    case store(StoreWrite)
    /// How the commanded switch with this number goes.
    case switchProgress(id: UInt64, SwitchProgress)

    // The names in a record of what has no label.
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
    /// Channels to look for it on. Empty if it is not known where it is.
    public let frequencies: [Frequency]
    /// The security that the access point was seen to offer; nil for any of the network's.
    public let offer: Security?
    /// Comes back with the outcome, so that an answer to an earlier order is known as such.
    public let epoch: UInt64
    /// Whether it is to be joined without a scan, for the radio does none.
    public var isUnseen: Bool { unseen ?? false }
    /// Nil instead of false, which records leave out.
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
    /// Comes back with the result.
    public let id: UInt64
    /// Channels to scan; all that are allowed if it is empty.
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
        /// All is well: find out where the other networks are, before that is needed.
        case unseen = "survey"
        /// The link is weak: find something better.
        case weak
        /// The link leads nowhere: find something that does.
        case unusable
        /// The device is not in the network that it belongs in: is that one back?
        case preferred
        /// Another network is to stand by: which can?
        case standby
        /// A commanded switch joins only what it sees.
        case commanded
    }
}

/// How to measure the signal of the link.
public struct SignalWatch: Hashable, Sendable, Codable {
    /// In dBm. The kernel tells when the signal falls below it or rises above it, where the driver can.
    public let threshold: Int
    /// How often to measure besides.
    public let interval: Duration
    /// How often to measure where the driver cannot watch the threshold by itself.
    public let unsupervisedInterval: Duration

    public init(threshold: Int, interval: Duration, unsupervisedInterval: Duration) {
        self.threshold = threshold
        self.interval = interval
        self.unsupervisedInterval = unsupervisedInterval
    }
}

/// State that the policy wants remembered over a restart.
public enum StoreWrite: Hashable, Sendable, Codable {
    /// The commanded switch with this number has ended. Committed, its target is the network that the device belongs
    /// in.
    case switchEnded(id: UInt64, isCommitted: Bool)
}

/// A commanded switch from its acceptance to its one outcome.
public enum SwitchProgress: Hashable, Sendable, Codable {
    case accepted
    case joining
    case waitingForAddress
    /// Address and route are there; does the network lead to what the device needs?
    case validating
    /// The network is up, and the app has to say so over it.
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
