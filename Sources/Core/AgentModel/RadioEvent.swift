/// Events of nl80211 about the interface (nl80211.h, `enum nl80211_commands`).
public enum RadioEvent: Hashable, Sendable {
    case scanStarted
    /// A scan has ended. `frequencies` are its channels, if the kernel reports them.
    case scanFinished(aborted: Bool, frequencies: [Frequency] = [])
    /// The signal fell below a threshold (`setSignalThresholds`). Level in dBm, if the driver reports it.
    case signalLow(Int?)
    /// The signal rose above a threshold. Level in dBm, if the driver reports it.
    case signalHigh(Int?)
    /// Several successive beacons were missed. The driver probes the access point. Usually a disconnection follows.
    case beaconLoss
    /// Number of successive frames that the access point has not acknowledged.
    case packetLoss(frames: Int)
    /// A connection was made, after a join or roaming. Keys may still be missing.
    case connected(BSSID)
    /// A join failed, with the status code of the refusal (IEEE 802.11-2020, table 9-50); nil if the access point did
    /// not answer.
    case connectionFailed(BSSID?, status: Int?)
    /// The link has ended, with the reason code (IEEE 802.11-2020, table 9-49).
    case disconnected(reason: Int?, byAccessPoint: Bool)
    /// The access point has announced a move to this channel, and the station has followed.
    case channelChanged(Frequency)
    /// The regulatory domain has changed: two letters, "00" for the world domain, nil for a domain defined by the
    /// driver.
    case regulatoryChanged(country: String?)
    case interfaceAdded
    /// The interface is gone. Requests fail with `interfaceMissing` until it appears again.
    case interfaceRemoved
    /// nl80211 has become available.
    case supported
    /// Events were lost: read the current state.
    case resynchronise
}
