import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Everything that the core wants done. The runner does it in the order given and decides nothing.
package enum Effect: Sendable {
    // MARK: Links

    /// Join this with the station, whose address goes. Replaces an earlier order to join or leave of the same station.
    /// - Parameters:
    ///   - another: whether it is another network than the last one, whose addresses of IPv6 go too.
    ///   - afterSignOff: as soon as the sign-off under way, which needs the link as it is, has ended.
    case join(StationID, JoinRequest, attempt: UInt64, another: Bool, afterSignOff: Bool)
    /// Be joined to nothing, and have no address. Replaces an earlier order as well.
    case leave(StationID, afterSignOff: Bool)
    /// Get an address in the network that the station has joined: `address` tells what becomes of it.
    case seekAddress(StationID, AddressRequest)
    /// Find out whether the address still holds: the access point is another one.
    case confirmAddress(StationID)
    /// The link is lost, and the address with it.
    case dropAddress(StationID)
    case bringUp(StationID)
    /// This station carries the traffic from now on: its network is the one to ask, and routes lead there.
    case use(StationID)
    case askSupplicant(StationID, LinkQuestion)
    case askKernel(StationID, FailoverPolicy.Link)
    /// Look what the hardware allows: `radiosFound` is the answer.
    /// - Parameter isSpareAnswering: whether the spare station's wpa_supplicant does.
    case reviewHandover(UInt64, inUse: StationID, spare: StationID?, isSpareAnswering: Bool)
    /// Make this interface on the radio of the other, and look again.
    case addInterface(UInt64, StationID, beside: StationID)
    /// Connect to wpa_supplicant for every station, and stay so.
    case startSupplicants
    /// Listen for a configurator of Wi-Fi Easy Connect, or no more.
    case listenForConfigurator(StationID, Bool)
    /// Ask the kernel whose rules the radio goes by: `rules` is the answer, if there is one.
    case readRules(StationID)

    // MARK: Scans and measurements

    /// Ask how many names the radio can call in one scan: `nameLimit` is the answer.
    case askNameLimit(StationID)
    case scan(StationID, ScanOwner, ssids: [SSID], frequencies: [Frequency], asksEverybody: Bool)
    /// End the scan under way on these radios, also another program's.
    case abortScan([StationID])
    case readScan(StationID, after: ScanOrder?)
    /// Hotspot providers are asked about these networks: `claimed` is the answer.
    case claim([BSS])
    /// Have the driver watch the threshold, if it can.
    case watchSignal(StationID, SignalWatch?)
    /// Measure the signal of the link: `measured` with this number is the answer.
    case measure(StationID, UInt64)
    case watchBeacons(StationID, AccessPoint?)
    /// Tells the watch over beacons that a scan begins or ends.
    case beaconsDuringScan(Bool)
    /// Tells it whether the access point that it suspects is there.
    case beaconsAnswered(isThere: Bool)
    /// The processor is awake: has the device come into use?
    case lookForTraffic

    // MARK: The health of the radio

    /// Ask the radio what its firmware has to answer: `radioAnswered` tells whether it did.
    case checkRadio(StationID)
    /// End the link, or what the driver takes for a join.
    case disconnect(StationID)
    /// Take this step: `recoveryEnded` follows.
    case recover(StationID, RecoveryLadder.Step)
    /// Set what a driver forgets when it begins anew.
    case restoreRadio(StationID)
    /// Keep this for after a restart.
    case rememberRecovery(RecoveryLadder.Memory)

    // MARK: The device's own access point

    /// Ask what the radio allows of it: `rescue` with this number is the answer.
    case askRescueRadio(UInt64, beside: StationID)
    /// Open it: `rescue` tells what becomes of it.
    case openRescue(UInt64, RescueOrder)
    /// Close the one of this number: `rescue` tells when that is done.
    case closeRescue(UInt64)
    /// Keep this for after a restart.
    case rememberRescue(RescueAccessPoint.Opening?)

    // MARK: How far the network leads

    /// The network that is about to be left is signed off from.
    case signOff
    /// Packets go this way now.
    /// - Parameter name: the network's hash; empty where it is none of the device's.
    case follow(TrafficPath, name: String)
    /// Whether the station's link carries no traffic, and waits for the loss of the other.
    case standsBy(StationID, Bool)
    /// Nothing is asked over the link beside any more.
    case leaveSuccessorProbe
    case probe(epoch: UInt64, within: Duration)
    case probeSuccessor(epoch: UInt64, StationID, within: Duration)
    case setCaptive(Bool, interface: String)

    // MARK: Apps

    case answer(RequestID, Result<Response.Body, ProtocolError>)
    case publish(Event.Body)
    /// Ask how far the network leads, as far as that is known: `connectivity` is the answer.
    case readConnectivity
    /// The service manager shows this line.
    case service(String)
    /// The device's addresses have changed.
    case addressesChanged

    // MARK: Memory and time

    /// Store this change. Changes are stored one after the other, in this order.
    case commit(CommitID, StateChange)
    /// What the policy was told, and what it wants.
    case record(PolicyEvent, [PolicyAction])
    case say(LogLevel, String)
    /// Say what is missing, and what to do about it.
    case explain(MissingPart, StationID)
    /// Replaces what the timer waited for; nil ends it.
    case wait(AgentTimer, until: Instant?, leeway: Duration)
}

package enum LogLevel: Sendable, Equatable {
    case debug, info, notice, warning, error
}

/// Where packets go.
package enum TrafficPath: Hashable, Sendable {
    case none
    /// The Wi-Fi link with this epoch.
    case wifi(epoch: UInt64)
    /// Another uplink carries the traffic.
    case other(Uplink)
}

/// A change of what the key file keeps: a condition that it checks still holds when the result is stored, for nothing
/// else gets in between. What was learnt, and how the last switch ended, goes along.
package struct StateChange: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// All that was learnt, whether it is worth a write or not.
        case learnt
        /// How a switch ended.
        case outcome
        /// A switch is accepted.
        /// - Parameter ownersWord: the target, where its owner has sent it.
        case accepted(PendingSwitch, target: StoredNetwork, joinOnce: Bool, isOwnersWord: Bool)
        case backups(PreparedUpdate, localKey: Secret)
        /// A newer password of a network is kept beside its own.
        case staged(NewPassword)
        /// It is over with that one.
        case stagedEnded(String, StagedPassword.Phase)
    }

    package let kind: Kind
    let journal: NetworkJournal
    let clock: ClockReading
    /// For how many seconds staged passwords wait yet, by their change.
    let staged: [String: UInt32]

    /// - Throws: where the change does not fit what is stored; then nothing is changed.
    package func apply(to state: inout StoredState) throws(ProtocolError) {
        try applyKind(to: &state)
        state.countStaged(staged)
    }

    private func applyKind(to state: inout StoredState) throws(ProtocolError) {
        switch kind {
        case .learnt: journal.update(&state, clock)
        case .outcome: journal.update(&state, clock) { _ in }
        case .accepted(let pending, let target, let joinOnce, let isOwnersWord):
            journal.update(&state, clock) { state in
                state.pendingSwitch = pending
                if isOwnersWord { state.takeWord(for: target) }
                // This copy has the floor of the stored one, which joins may have raised.
                if !joinOnce, let known = state.namedNetworks.first(where: { $0.isSame(as: target) }) {
                    state.pendingSwitch?.target = known
                }
            }
        case .backups(let update, let localKey):
            try journal.update(&state, clock) { state throws(ProtocolError) in
                try state.apply(update, localKey: localKey)
            }
        case .staged(let password):
            let now = clock.seconds(of: clock.instant)
            try journal.update(&state, clock) { state throws(ProtocolError) in
                try state.stage(password, at: now)
            }
        case .stagedEnded(let changeID, let phase):
            journal.update(&state, clock) { $0.endStaged(changeID, phase) }
        }
    }
}
