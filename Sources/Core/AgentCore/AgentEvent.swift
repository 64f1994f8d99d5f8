import AgentModel
import AppProtocol
import DHCP
import Failover
import KeyFile

package struct RequestID: Hashable, Sendable, ExpressibleByIntegerLiteral {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package init(integerLiteral rawValue: UInt64) { self.rawValue = rawValue }
}

package struct CommitID: Hashable, Sendable, ExpressibleByIntegerLiteral {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package init(integerLiteral rawValue: UInt64) { self.rawValue = rawValue }
}

package enum AgentEvent: Sendable {
    case begin(inUse: StationID)
    /// The initial state is complete. The core starts to make decisions.
    case atWork
    case radio(StationID, RadioEvent)
    case route(RouteEvent)
    /// The state of a modem has changed. The kernel snapshot contains the new state.
    case modemChanged
    /// Verdicts on the uplinks of `Effect.checkUplinks`; an uplink without a verdict is missing.
    case uplinksJudged([UplinkCandidate: UplinkVerdict])
    case supplicant(StationID, SupplicantEvent)
    /// The switch to the network of an Easy Connect configurator was started or refused.
    case configuratorLeft(StationID)
    case ipv4(StationID, IPv4Event)
    case ipv6(StationID, IPv6Event)
    /// Answer to `Effect.askSupplicant`.
    case linkAnswer(StationID, LinkQuestion, LinkAnswer)
    /// Answer to `Effect.askKernel` if the link is gone.
    case linkGone(FailoverPolicy.Link)
    case joinRefused(attempt: UInt64, JoinFailure)
    case scanBegan(ScanOwner)
    case scanEnded(ScanOwner, ScanEnd)
    /// Answer to `Effect.readScan`: access points known to the kernel; nil if they could not be read.
    case scanRead([BSS]?, after: ScanOrder?)
    /// Signal of the current link in dBm.
    case signal(Int)
    /// Answer to `Effect.measure`: signal in dBm and the driver's counters.
    case measured(UInt64, Int, StationInfo? = nil)
    /// The driver of this station does not support a signal threshold.
    case signalUnsupervised(StationID)
    case silence(AccessPoint, SilenceReport)
    /// Finding of the connectivity monitor about a link.
    case found(PolicyEvent)
    case connectivityChanged
    /// Answer to `Effect.readConnectivity`.
    case connectivity(Connectivity)
    /// Answer to `Effect.askNameLimit`: maximum number of names in one scan, including the wildcard; nil if unknown.
    case nameLimit(StationID, Int?)
    /// Answer to `Effect.readRules`: the kernel's regulatory country.
    case rules(String)
    case radioAnswered(StationID, Bool)
    /// Answer to `Effect.recover`: the step is done, or failed with this problem.
    case recoveryEnded(RecoverySteps.Step, problem: String?)
    /// Answer to `Effect.reviewHandover` and `Effect.addInterface`: capabilities of the radios.
    case radiosFound(UInt64, HandoverRadios)
    /// Like `radiosFound`, but already evaluated. Only the simulator sends this event.
    case handoverFound(UInt64, Handover)
    /// Answer to `Effect.claim`: names of the providers for each access point.
    case claimed([BSSID: [String]])
    case request(RequestID, AgentRequest)
    /// State of the setup access point, with the number of its order.
    case setupAccessPoint(UInt64, SetupAccessPointReport)
    case browserAsked
    /// A command of an app was executed; `text` is a sentence for the history.
    case commanded(MessageType, by: KeyName?, text: String)
    /// The answer to the switch command was delivered, or can no longer be delivered.
    case answerSent(switchID: String)
    /// A change was stored. This is the new content of the key file.
    case committed(CommitID, StoredState)
    /// A change was not stored. The key file is unchanged.
    case refusedCommit(CommitID, ProtocolError)
    /// Answer to `Effect.checkStore`, also sent at the start.
    case storeChecked(isWritable: Bool)
    case timer(AgentTimer)
    /// The machine woke from sleep.
    case resumed
    case settings(PolicySettings)
    /// The agent stops. The link stays up.
    case stop
}

package enum LinkQuestion: Sendable, Equatable {
    /// Asks for the current link. Answers with an earlier number are ignored.
    case whatIsThere(UInt64)
    case protection(StoredNetwork, BSSID)
}

package enum LinkAnswer: Sendable, Equatable {
    case none
    case notLinked
    case linked(LinkFacts)
}

/// Link data from wpa_supplicant.
package struct LinkFacts: Sendable, Equatable {
    package var ssid: SSID?
    package var bssid: BSSID?
    package var frequency: Frequency?
    /// Security used for authentication; nil if unknown.
    package var security: Security?
    package var protection: LinkProtection
    package var usesTKIP: Bool

    package init(
        ssid: SSID?, bssid: BSSID?, frequency: Frequency? = nil, security: Security? = nil,
        protection: LinkProtection = [], usesTKIP: Bool = false
    ) {
        (self.ssid, self.bssid, self.frequency, self.security) = (ssid, bssid, frequency, security)
        (self.protection, self.usesTKIP) = (protection, usesTKIP)
    }
}

package enum SilenceReport: Sendable, Equatable {
    /// The access point must be checked.
    case suspected
    case confirmed
    /// The radio does not count beacons. Received frames are watched instead.
    case unknown
}

package enum ScanOwner: Sendable, Hashable {
    case policy(ScanOrder)
    case app(RequestID, Int)
    /// Scan that checks if the access point is still there.
    case silence(AccessPoint, since: Instant)
    /// Scan that checks if verified access points of the network offer less protection than its link.
    case minimumSecurity(NetworkID)
}

package enum ScanEnd: Sendable, Equatable {
    case finished([BSS])
    case aborted
    case busy(ProtocolError)
    /// The radio refuses to scan although its interface is up.
    /// - Parameters:
    ///   - joinsUnseen: Whether the firmware finds networks without a scan.
    ///   - isConnecting: Whether the driver reports that it is connecting (EAGAIN).
    case refused(ProtocolError, joinsUnseen: Bool, isConnecting: Bool = false)
    case failed(ProtocolError)

    var error: ProtocolError? {
        switch self {
        case .busy(let error), .refused(let error, _, _), .failed(let error): error
        case .finished, .aborted: nil
        }
    }

    var outcome: ScanFinished.Outcome {
        switch self {
        case .finished: .finished
        case .aborted: .aborted
        case .busy, .refused, .failed: .failed
        }
    }

    var count: Int { if case .finished(let results) = self { results.count } else { 0 } }
}

/// Command of an app, with decrypted passwords and derived keys.
package enum AgentRequest: Sendable {
    /// - Parameter switchID: Random ID from outside the core. The app uses it to ask for the outcome.
    case switchNetwork(
        SwitchTarget, confirmWithin: Int?, joinOnce: Bool, besideUplink: Bool = false, switchID: String)
    case confirmSwitch(String)
    case updateBackups(PreparedUpdate)
    case stagePassword(NewPassword)
    case dropPassword(String)
    /// Sets the device's name; nil deletes the name.
    case setName(DeviceName?)
    case startScan(AppProtocol.ScanRequest)
    case openSetupAccessPoint(SetupAccessPoint.Reason)
    case closeSetupAccessPoint
}

package enum SwitchTarget: Sendable, Equatable {
    case stored(NetworkHash)
    /// The user has sent the network's password, or declared it open.
    case new(StoredNetwork)
}

package enum AgentTimer: Hashable, Sendable {
    case policy
    case statistics
    /// Check if the store can be written again.
    case store
    /// Leave the previous link.
    case grace(StationID)
    /// Accept another DHCP client's address without a default route.
    case router(StationID)
    case supplicantRetry(StationID)
    case scanRetry
    case scanOverdue
    /// Report a missing part.
    case trouble
    case recovery
    case radioCheck
    /// Read the kernel's regulatory domain.
    case country
    case signal
    case setupAccessPoint
    case staged
}
