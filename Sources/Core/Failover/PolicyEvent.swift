import AgentModel

/// Everything that the policy learns. It knows nothing else.
public enum PolicyEvent: Sendable, Equatable, Codable {
    /// New settings. Contradictory ones are ignored, and probes stay on or off. Indirect, because it would make every
    /// event as large as itself.
    indirect case settings(PolicySettings)
    /// The networks that may be joined from now on; the whole list, in the order of preference.
    case networks([KnownNetwork])
    /// The channel of a network in the agent's last run: the first place to look for it.
    case remembered(NetworkID, Frequency)
    /// An access point completed a handshake with this network's key when the device ran before; the latest comes
    /// first.
    case verified(NetworkID, BSSID)
    /// The interface went up or down, or came or went.
    case interface(isUp: Bool)
    /// Whether wpa_supplicant answers.
    case supplicant(isAvailable: Bool)
    /// Whether another network can be joined beside the link in use: a second station is ready, and the hardware allows
    /// it another channel at the same time.
    case spare(isReady: Bool)
    /// The other interface that carries the device's traffic; nil if Wi-Fi does.
    case otherUplink(Uplink?)
    /// Whether a user is at the setup access point and the radio cannot join at the same time. Then only commanded
    /// joins are allowed.
    case held(Bool)
    /// The agent found the device connected already when it started.
    case linkFound(NetworkID, AccessPoint)
    /// The agent was restarted during the commanded switch with this number: the device belongs back where it came
    /// from, if known. The target is nil if unknown.
    case interrupted(id: UInt64, target: NetworkID?, cameFrom: NetworkID?)

    /// A scan ended well: the policy's own, with its number, or another program's.
    case scanned(id: UInt64?, [BSS])
    /// The policy's own scan could not be done or was aborted.
    case scanFailed(id: UInt64)
    /// The radio refused the policy's own scan, or did not end it.
    /// - Parameter joinsUnseen: whether the radio can join a network without a scan.
    case scanRefused(id: UInt64, joinsUnseen: Bool)

    /// The join with this epoch has reached the access point and the handshake is done.
    case associated(epoch: UInt64, AccessPoint)
    case joinFailed(epoch: UInt64, JoinFailure)
    /// The current link is gone, without an order of the policy.
    case linkLost(LinkEnd = .other)
    /// The link with this epoch, which is being made beside the one in use, is gone.
    case successorLost(epoch: UInt64)
    /// Whether the current link has an address and a route.
    case address(isReady: Bool)
    /// Whether the link with this epoch, which is being made beside the one in use, has an address and a route.
    case successorAddress(epoch: UInt64, isReady: Bool)
    /// Signal of the current link in dBm.
    case signal(Int)
    /// Frames that the current link lost since the last sample, at any signal, 0 to 100 percent.
    case loss(percent: Int)
    /// The current access point will end the link within this time.
    case disassociationImminent(within: Duration)
    /// The current access point asks the device to move to another one of the network.
    case transitionRequested
    /// The current access point names another one of the network, and its channel.
    case neighbour(BSSID, Frequency)
    /// The result of the probe of the link with this epoch.
    ///
    /// `.online` also counts without a probe while the link is doubted.
    case probed(epoch: UInt64, ProbeResult)
    /// A destination that was reached over the link with this epoch has gone silent or broken off.
    case doubted(epoch: UInt64)
    /// A provider is signing in over the link with this epoch. It reports the result with `.probed`, by `until` at the
    /// latest.
    case signingIn(epoch: UInt64, until: Instant)
    /// The probe of the link with this epoch was not made, because the network is metered or the budget allows none
    /// before `until`. It says nothing, for or against.
    case postponed(epoch: UInt64, until: Instant)

    /// A user or an app wants the device on this network. With `confirmWithin` the switch stands only if `.confirmed`
    /// comes that soon after the network is up. With `joinOnce` it is a visit: the network to return to stays the same.
    case switchTo(NetworkID, id: UInt64, confirmWithin: Duration? = nil, joinOnce: Bool = false)
    /// The app confirms the switch with this number over the new network.
    case confirmed(id: UInt64)
    /// The machine was asleep until now, so what was measured before is old.
    case resumed
    /// `nextWake` has come.
    case tick
    /// The agent ends: no action follows, and the link stays as it is.
    case stop

    // The names in a record. Three cases have newer names than their records.
    private enum CodingKeys: String, CodingKey {
        case settings, networks, remembered, interface, supplicant, spare, otherUplink, held, linkFound, interrupted
        case scanned, scanFailed, scanRefused, associated, joinFailed, linkLost, successorLost, address
        case successorAddress, signal, loss, neighbour, probed, doubted, signingIn, postponed, switchTo, confirmed
        case resumed, tick, stop
        case verified = "proven"
        case disassociationImminent = "askedToLeave"
        case transitionRequested = "askedToMove"
    }

    // Names of unlabelled values in a record.
    private enum SettingsCodingKeys: String, CodingKey { case _0 = "settings" }
    private enum NetworksCodingKeys: String, CodingKey { case _0 = "networks" }
    private enum RememberedCodingKeys: String, CodingKey { case _0 = "network", _1 = "frequency" }
    private enum VerifiedCodingKeys: String, CodingKey { case _0 = "network", _1 = "bssid" }
    private enum OtherUplinkCodingKeys: String, CodingKey { case _0 = "uplink" }
    private enum HeldCodingKeys: String, CodingKey { case _0 = "isHeld" }
    private enum LinkFoundCodingKeys: String, CodingKey { case _0 = "network", _1 = "accessPoint" }
    private enum ScannedCodingKeys: String, CodingKey { case id, _1 = "results" }
    private enum AssociatedCodingKeys: String, CodingKey { case epoch, _1 = "accessPoint" }
    private enum JoinFailedCodingKeys: String, CodingKey { case epoch, _1 = "failure" }
    private enum LinkLostCodingKeys: String, CodingKey { case _0 = "end" }
    private enum SignalCodingKeys: String, CodingKey { case _0 = "dBm" }
    private enum NeighbourCodingKeys: String, CodingKey { case _0 = "bssid", _1 = "frequency" }
    private enum ProbedCodingKeys: String, CodingKey { case epoch, _1 = "result" }
    private enum SwitchToCodingKeys: String, CodingKey { case _0 = "network", id, confirmWithin, joinOnce }
}

/// The cause of a link's end.
public enum LinkEnd: String, Sendable, CaseIterable, Codable {
    /// The device itself: the interface was taken down, wpa_supplicant was stopped. That says nothing about the
    /// network.
    case ownDoing = "own"
    /// Its access point is not heard any more, and answers nothing.
    case silence = "silent"
    /// The access point, or an unknown cause.
    case other
}

/// The result of a try to use the link.
public enum ProbeResult: String, Sendable, CaseIterable, Codable {
    /// The required destination answers.
    case online
    /// Another host answered: a user has to log in first.
    case captive
    /// No answer in time.
    case failed
}

/// The access point that the device is associated with.
public struct AccessPoint: Hashable, Sendable, Codable {
    public let bssid: BSSID
    /// Nil if neither a scan nor the driver reported it.
    public let frequency: Frequency?

    public init(bssid: BSSID, frequency: Frequency?) {
        self.bssid = bssid
        self.frequency = frequency
    }
}

extension [PolicyEvent] {
    /// Events of the same moment, in the order in which they are handled: first the facts, then the state of the link,
    /// then the wishes.
    var inCanonicalOrder: [PolicyEvent] {
        guard count > 1 else { return self }
        return sorted { left, right in
            guard left.stage == right.stage else { return left.stage < right.stage }
            return left.tieBreak < right.tieBreak
        }
    }
}

extension PolicyEvent {
    fileprivate var stage: Int {
        switch self {
        // Before events that may order a scan: with another uplink none is wanted.
        case .otherUplink(.some): 0
        case .settings: 1
        // Before events that may leave the link: the newest measurement shows whether there is a reason.
        case .signal, .loss: 2
        case .otherUplink(nil): 3
        case .networks: 4
        case .remembered: 5
        case .verified: 6
        case .resumed: 7
        case .scanned: 8
        case .scanFailed, .scanRefused: 9
        case .interface: 10
        case .supplicant: 11
        case .spare: 12
        case .held: 13
        case .interrupted: 14
        case .linkFound: 15
        case .linkLost: 16
        case .successorLost: 17
        case .joinFailed: 18
        case .associated: 19
        case .address: 20
        case .successorAddress: 21
        case .doubted: 22
        case .signingIn: 23
        case .postponed: 24
        case .probed: 25
        case .neighbour: 26
        case .disassociationImminent: 27
        case .transitionRequested: 28
        case .confirmed: 29
        case .switchTo: 30
        case .tick: 31
        case .stop: 32
        }
    }

    /// Orders events of one kind. Any order will do that is always the same.
    fileprivate var tieBreak: String { String(reflecting: self) }
}
