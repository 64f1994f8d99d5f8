import AgentModel
import AppProtocol
import Failover

/// Instruction from the core to its runner, which performs effects in order without further decisions.
package enum Effect: Sendable {
    // MARK: Links

    /// Join a network and drop the station's address. Replaces an earlier join or leave of the station.
    /// - Parameters:
    ///   - another: Whether the network differs from the last one. If so, IPv6 addresses are removed too.
    ///   - afterSignOff: Whether to wait for the end of the sign-off, which needs the link.
    case join(StationID, JoinRequest, attempt: UInt64, another: Bool, afterSignOff: Bool)
    /// Disconnect and drop the address. Replaces an earlier join or leave of the station.
    case leave(StationID, afterSignOff: Bool)
    /// Get an address in the joined network. `AgentEvent.ipv4` and `ipv6` report the result.
    case seekAddress(StationID, AddressRequest)
    /// Confirm the address after roaming.
    case confirmAddress(StationID)
    /// Replace the static IPv6 address of the joined network; nil: remove it. Other addresses stay.
    case setStaticIPv6(StationID, StaticAddress?)
    case dropAddress(StationID)
    case bringUp(StationID)
    /// Use this station for traffic, routes and connectivity checks.
    case use(StationID)
    case askSupplicant(StationID, LinkQuestion)
    case askKernel(StationID, FailoverPolicy.Link)
    /// Read the capabilities of the radios. The answer is `radiosFound`.
    /// - Parameter isSpareAnswering: Whether the spare station's wpa_supplicant answers.
    case reviewHandover(UInt64, inUse: StationID, spare: StationID?, isSpareAnswering: Bool)
    /// Create this interface on the radio of the other station, and read the capabilities again.
    case addInterface(UInt64, StationID, beside: StationID)
    /// Connect to wpa_supplicant for every station, and reconnect after a loss.
    case startSupplicants
    /// Start or stop listening for a configurator (Wi-Fi Easy Connect).
    case listenForConfigurator(StationID, Bool)
    /// Read the kernel's regulatory domain. The answer is `rules` if the domain is known.
    case readRules(StationID)

    // MARK: Scans and measurements

    /// Read the maximum number of names in one scan. The answer is `nameLimit`.
    case askNameLimit(StationID)
    case scan(StationID, ScanOwner, ssids: [SSID], frequencies: [Frequency], asksEverybody: Bool)
    /// Abort scans on these radios, including scans of other programs.
    case abortScan([StationID])
    case readScan(StationID, after: ScanOrder?)
    /// Ask hotspot providers about these networks. The answer is `claimed`.
    case claim([BSS])
    /// Set the driver's signal threshold, if supported.
    case watchSignal(StationID, SignalWatch?)
    /// Measure the signal. The answer is `measured` with this number.
    case measure(StationID, UInt64)
    case watchBeacons(StationID, AccessPoint?)
    /// Notify the beacon loss detector that a scan starts or ends.
    case beaconsDuringScan(Bool)
    case beaconsAnswered(isThere: Bool)
    /// Check if the device has become active, while the processor is awake anyway.
    case lookForTraffic

    // MARK: Radio recovery

    /// Send a command to the firmware. The answer is `radioAnswered`.
    case checkRadio(StationID)
    /// End the link, or the driver's join.
    case disconnect(StationID)
    /// Take this recovery step. The answer is `recoveryEnded`.
    case recover(StationID, RecoverySteps.Step)
    /// Restore settings that a driver loses in a reset.
    case restoreRadio(StationID)
    /// Keep the state of the recovery across restarts.
    case rememberRecovery(RecoverySteps.PersistentState)

    // MARK: Setup access point

    /// Read the capabilities of the radio for the setup access point. The answer is `AgentEvent.setupAccessPoint` with
    /// this number.
    case askSetupAccessPointRadio(UInt64, beside: StationID)
    /// Open the setup access point. `AgentEvent.setupAccessPoint` reports its state.
    case openSetupAccessPoint(UInt64, SetupAccessPointOrder)
    /// Close the setup access point with this number. `AgentEvent.setupAccessPoint` reports the end.
    case closeSetupAccessPoint(UInt64)
    case rememberSetupAccessPoint(SetupAccessPoint.Opening?)

    // MARK: Connectivity

    /// Sign off from the network before leaving it.
    case signOff
    /// Use this path for traffic from now on.
    /// - Parameters:
    ///   - name: Hash of the network; empty for other uplinks.
    ///   - isMetered: Whether the traffic is metered.
    case follow(TrafficPath, name: String, isMetered: Bool)
    /// Set whether the station's link is only on standby, with power save.
    case standsBy(StationID, Bool)
    /// Check these uplinks other than Wi-Fi, and no others. `lost` names the earlier ones whose link is gone.
    /// `AgentEvent.uplinksJudged` reports the verdicts.
    case checkUplinks([UplinkCandidate], lost: [UplinkCandidate])
    /// Route traffic over this uplink, whatever the metrics of others; nil for the kernel's choice.
    case prefer(UplinkCandidate?)
    case leaveSuccessorProbe
    case probe(epoch: UInt64, within: Duration)
    case probeSuccessor(epoch: UInt64, StationID, within: Duration)
    case setCaptive(Bool, interface: String)

    // MARK: Apps

    case answer(RequestID, Result<Response.Body, ProtocolError>)
    case publish(Event.Body)
    /// Read the connectivity state. The answer is `connectivity`.
    case readConnectivity
    case service(String)
    case addressesChanged

    // MARK: Memory and time

    /// Store this change. Changes are stored in order.
    case commit(CommitID, StateChange)
    /// Check if the store can be written. The answer is `storeChecked`.
    case checkStore
    case record(PolicyEvent, [PolicyAction])
    case log(LogLevel, String)
    case explain(MissingPart, StationID)
    /// Set the timer; nil cancels it.
    case wait(AgentTimer, until: Instant?, leeway: Duration)
}

package enum LogLevel: Sendable, Equatable {
    case debug, info, notice, warning, error
}

package enum TrafficPath: Hashable, Sendable {
    case none
    case wifi(epoch: UInt64)
    case other(Uplink)
}
