import AgentModel
import EventLoop

/// The radio behind one wireless interface, through nl80211.
///
/// The interface is known by its name and may come and go: its index is followed. While it is missing, everything asked
/// of it fails with `NetlinkError.Reason.interfaceMissing`.
@AgentLoop
public final class WirelessRadio {
    /// The interface's name, such as "wlan0".
    public nonisolated let interface: String
    /// The interface's number now, nil while it does not exist.
    public private(set) var interfaceIndex: Int?

    /// - Parameter onEvent: called for each event, on the loop, from the moment this returns.
    /// - Throws: `familyMissing` where the kernel has no nl80211. A missing interface is no error: it may come later.
    public init(
        interface: String, onEvent: @escaping @AgentLoop @Sendable (RadioEvent) -> Void
    ) async throws(NetlinkError) {
        self.interface = interface
        throw unfinished
    }

    /// All wireless interfaces of the system.
    public func interfaces() async throws(NetlinkError) -> [WirelessInterface] { throw unfinished }

    /// What the radio of this interface can do.
    public func phy() async throws(NetlinkError) -> Phy { throw unfinished }

    /// Scans and waits for the end. There is one scan of our own at a time.
    ///
    /// - Parameter deadline: after it the scan is aborted and `timedOut` is thrown. A full scan takes 2 s with 26
    ///   channels and 14 s with the 151 of the domain US.
    /// - Throws: an error that `isBusy` while any scan is under way on the radio.
    public func scan(
        _ request: ScanRequest = .full, deadline: Duration = .seconds(20)
    ) async throws(NetlinkError) -> ScanOutcome { throw unfinished }

    /// Asks for the end of a scan; without one nothing happens. The end is an event.
    public func abortScan() {}

    /// What the kernel remembers of recent scans, whoever made them.
    public func scanResults() async throws(NetlinkError) -> [BSS] { throw unfinished }

    /// Measures the current link. Nil while there is none.
    public func station() async throws(NetlinkError) -> StationInfo? { throw unfinished }

    /// The access point that the interface is associated with now.
    public func link() async throws(NetlinkError) -> AssociatedBSS? { throw unfinished }

    /// Has the kernel watch the signal of the current link, for `signalLow` and `signalHigh`.
    ///
    /// It has to be set anew after each association.
    /// - Parameters:
    ///   - thresholds: in dBm, below zero; none ends the watch.
    ///   - hysteresis: in dB, how far the signal must move on before the next event.
    public func setSignalThresholds(_ thresholds: [Int], hysteresis: Int = 2) async throws(NetlinkError) {
        throw unfinished
    }

    /// Joins an open network without the supplicant's help. The outcome is an event.
    public func connect(to ssid: SSID, bssid: BSSID? = nil, frequency: Frequency? = nil) async throws(NetlinkError) {
        throw unfinished
    }

    /// Leaves the current network, whoever joined it. The end is an event.
    public func disconnect() async throws(NetlinkError) { throw unfinished }

    /// Sends the access point a deauthentication and forgets it, on radios whose driver leaves that to the kernel.
    /// - Parameter reason: IEEE 802.11-2020, table 9-49; 3 is "leaving".
    public func deauthenticate(from bssid: BSSID, reason: UInt16 = 3) async throws(NetlinkError) { throw unfinished }

    /// The regulatory domain in force: two letters, "00" for the world domain.
    public func regulatoryDomain() async throws(NetlinkError) -> String { throw unfinished }

    private let unfinished = NetlinkError(attempted: "use the radio", reason: .malformed("not built yet"))
}
