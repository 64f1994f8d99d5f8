import AgentModel

/// What nl80211 says of the interface without being asked (nl80211.h, `enum nl80211_commands`).
public enum RadioEvent: Hashable, Sendable {
    /// A scan started, our own or another program's.
    case scanStarted
    /// That scan ended; results are worth reading.
    case scanFinished(aborted: Bool)
    /// The signal fell below a threshold (`setSignalThresholds`). The level in dBm, where the driver says it.
    case signalLow(Int?)
    /// The signal rose above a threshold. The level in dBm, where the driver says it.
    case signalHigh(Int?)
    /// Several beacons in a row were missed; the driver now probes the access point. Usually followed by a disconnection.
    case beaconLoss
    /// The access point acknowledged none of so many frames in a row.
    case packetLoss(frames: Int)
    /// Associated with this access point, at first or after roaming. Keys may still be to come.
    case connected(BSSID)
    /// The access point refused with this status code (IEEE 802.11-2020, table 9-50), or did not answer (nil).
    case connectionFailed(BSSID?, status: Int?)
    /// The link is lost: the reason code (IEEE 802.11-2020, table 9-49) and whether the access point sent it or the
    /// radio decided it here.
    case disconnected(reason: Int?, byAccessPoint: Bool)
    /// The channels that may be used changed: two letters, "00" for the world domain, nil for one of the driver's own.
    case regulatoryChanged(country: String?)
    /// The interface appeared (again).
    case interfaceAdded
    /// The interface is gone. Everything fails with `interfaceMissing` until it appears again.
    case interfaceRemoved
    /// The kernel has nl80211 now, which it had not at first.
    case supported
    /// Events were lost: ask for whatever is relied upon.
    case resynchronise
}
