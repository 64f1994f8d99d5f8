/// What the radio knows of the link to the access point it is associated with (nl80211.h, `NL80211_STA_INFO_*`).
/// A driver may leave out any of it.
public struct StationInfo: Hashable, Sendable {
    /// Signal of the last frame received, in dBm.
    public var signal: Int?
    /// Moving average of the signal of all frames, in dBm.
    public var signalAverage: Int?
    /// Moving average of the signal of beacons, in dBm.
    public var beaconSignalAverage: Int?
    /// Beacons received since the association.
    public var beaconsReceived: UInt64?
    /// From one beacon to the next, as the access point announces it.
    public var beaconInterval: Duration?
    /// Beacons missed since the association.
    public var beaconLossCount: UInt32?
    /// Time since the access point acknowledged anything, or anything but beacons was received from it.
    public var inactive: Duration?
    /// Time since the association.
    public var connected: Duration?
    /// Bit rates of the last frame in each direction, in kbit/s.
    public var receiveBitRate: Int?
    public var transmitBitRate: Int?
    /// Frames that were not acknowledged in the end.
    public var transmitFailed: UInt32?

    public init() {}

    /// The best measure of the link's strength that the driver offers, in dBm.
    public var strength: Int? { beaconSignalAverage ?? signalAverage ?? signal }
}
