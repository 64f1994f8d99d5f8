import AgentModel

/// Everything that the policy hears of. It knows nothing else.
public enum PolicyEvent: Sendable, Equatable {
    /// The networks that may be joined from now on; the whole list, in the order of preference.
    case networks([KnownNetwork])
    /// The interface went up or down, or came or went.
    case interface(isUp: Bool)
    /// wpa_supplicant answers, or does not answer any more.
    case supplicant(isAvailable: Bool)
    /// The agent found the device connected already when it started.
    case linkFound(NetworkID, AccessPoint)

    /// A scan ended well: the policy's own, with its number, or somebody else's.
    case scanned(id: UInt64?, [BSS])
    /// The policy's own scan could not be done or was aborted.
    case scanFailed(id: UInt64)

    /// The join with this epoch has reached the access point and the handshake is done.
    case associated(epoch: UInt64, AccessPoint)
    case joinFailed(epoch: UInt64, JoinFailure)
    /// The current link is gone, without the policy having asked for it. Where the device itself ended it (the interface
    /// was taken down, wpa_supplicant was stopped), that says nothing about the network.
    case linkLost(isOwnDoing: Bool = false)
    /// Whether the current link has an address and a route.
    case address(isReady: Bool)
    /// A measurement of the current link, in dBm.
    case signal(Int)

    /// Somebody wants the device on this network.
    case switchTo(NetworkID, id: UInt64)
    /// A moment that the policy asked to be woken at has come.
    case tick
}

/// The access point that the device is associated with.
public struct AccessPoint: Hashable, Sendable {
    public let bssid: BSSID
    /// Nil where neither a scan nor the driver told.
    public let frequency: Frequency?

    public init(bssid: BSSID, frequency: Frequency?) {
        self.bssid = bssid
        self.frequency = frequency
    }
}
