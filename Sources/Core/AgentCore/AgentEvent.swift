import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Marks a request of an app until it is answered.
package struct RequestID: Hashable, Sendable, ExpressibleByIntegerLiteral {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package init(integerLiteral rawValue: UInt64) { self.rawValue = rawValue }
}

/// Marks a change of the key file until it is stored or refused.
package struct CommitID: Hashable, Sendable, ExpressibleByIntegerLiteral {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package init(integerLiteral rawValue: UInt64) { self.rawValue = rawValue }
}

/// Everything that the core hears of. It knows nothing else.
package enum AgentEvent: Sendable {
    /// What the kernel says now. It goes before the event that it belongs to.
    case surroundings(Surroundings)
    /// The agent starts. This station carries the traffic, or is to.
    case begin(inUse: StationID)
    /// All that happened before the start has been told: from here on the device is kept online.
    case atWork
    case radio(StationID, RadioReport)
    case route(RouteReport)
    case supplicant(StationID, SupplicantReport)
    /// What the address client of a station tells.
    case address(StationID, AddressReport)
    /// The answer to `Effect.askSupplicant`.
    case linkAnswer(StationID, LinkQuestion, LinkAnswer)
    /// The answer to `Effect.askKernel`, where the link is gone.
    case linkGone(FailoverPolicy.Link)
    /// A join was not even taken on.
    case joinRefused(attempt: UInt64, JoinFailure)
    /// The radio has taken a scan on.
    case scanBegan(ScanOwner)
    case scanEnded(ScanOwner, ScanEnd)
    /// The answer to `Effect.readScan`: what the kernel knows to be in range; nil where it could not be read.
    case scanRead([BSS]?, after: ScanOrder?)
    /// A measurement of the link in use, in dBm.
    case signal(Int)
    /// The answer to `Effect.measure`, in dBm, with what the driver counts of the link.
    case measured(UInt64, Int, StationInfo? = nil)
    /// The kernel saw the signal cross the threshold, at this level where the driver says it.
    case signalCrossed(StationID, level: Int?, isBelow: Bool)
    /// The driver of this station does not watch the threshold.
    case signalUnsupervised(StationID)
    case silence(AccessPoint, SilenceReport)
    /// What the connectivity monitor found out about a link, in the policy's terms.
    case found(PolicyEvent)
    /// How far the network leads is known to be different.
    case connectivityChanged
    /// The answer to `Effect.readConnectivity`.
    case connectivity(Connectivity)
    /// The answer to `Effect.askNameLimit`: how many names the radio can call in one scan, the call to every access
    /// point included; nil where it does not say.
    case nameLimit(StationID, Int?)
    /// The answer to `Effect.readRules`: the country whose rules the kernel goes by.
    case rules(String)
    /// Whether the radio has answered a question that its firmware has to answer.
    case radioAnswered(StationID, Bool)
    /// The answer to `Effect.recover`: the step has been taken, or could not be.
    case recoveryEnded(RecoveryLadder.Step, problem: String?)
    /// The answer to `Effect.reviewHandover` and `Effect.addInterface`: what the hardware allows.
    case radiosFound(UInt64, HandoverRadios)
    /// The same from a world that knows what follows of it.
    case handoverFound(UInt64, Handover)
    /// The answer to `Effect.claim`: the names of the providers that may serve a network in range, by access point.
    case claimed([BSSID: [String]])
    case request(RequestID, AgentRequest)
    /// What becomes of the device's own access point, by the number of its order.
    case rescue(UInt64, RescueReport)
    /// A browser has asked the device's own page for something, there.
    case browserAsked
    /// A command of an app was carried out, as a sentence for the history.
    case commanded(MessageType, by: KeyName?, text: String)
    /// The answer to the command that started this switch has reached the app, or cannot any more.
    case answered(switchID: String)
    /// A change is stored: this is what the key file has now.
    case committed(CommitID, StoredState)
    /// A change was not stored: the key file is as it was.
    case refusedCommit(CommitID, ProtocolError)
    case timer(AgentTimer)
    /// The machine was asleep.
    case resumed
    case settings(PolicySettings)
    /// The agent ends; the link stays up.
    case stop
}

/// What nl80211 says of a station without being asked.
package enum RadioReport: Sendable, Equatable {
    /// A scan, the agent's own or another program's.
    case scanStarted
    /// - Parameter frequencies: the channels that were scanned, where the kernel says.
    case scanFinished(aborted: Bool, frequencies: [Frequency] = [])
    /// The kernel lost the link.
    case disconnected
    /// The access point of the link has gone to this channel, and the station with it.
    case channelChanged(Frequency)
    /// The interface appeared, or the kernel has nl80211 from now on.
    case appeared
    case removed
    /// Events were lost.
    case resynchronise
}

/// What rtnetlink says.
package enum RouteReport: Sendable, Equatable {
    /// The link of this name appeared or changed.
    case linkChanged(String, isUp: Bool)
    case linkRemoved(String)
    /// Nil where the interface is none of the stations.
    case addressAdded(StationID?, LinkAddress)
    case addressRemoved(StationID?, LinkAddress)
    /// Routes, or what carries the traffic.
    case other
}

/// What a station's wpa_supplicant says.
package enum SupplicantReport: Sendable, Equatable {
    case available
    case unavailable
    /// `attempt` is nil where no join of this process made the link.
    case connected(attempt: UInt64?, BSSID)
    /// The access point says which weaker ways in are closed.
    case waysClosed(TransitionDisable)
    /// The access point says that it will end the link, in that time.
    case askedToLeave(within: Duration)
    /// It wishes that the device moves.
    case askedToMove
    /// It names another access point of the network, and its channel.
    case neighbour(BSSID, Frequency)
    /// With the reason code of IEEE 802.11-2020, table 9-49.
    case disconnected(reason: Int, locallyGenerated: Bool)
    case joinFailed(attempt: UInt64, JoinFailure, detail: String)
    /// It listens for a configurator no more.
    case configuratorLeft
}

/// What wpa_supplicant is asked about its link.
package enum LinkQuestion: Sendable, Equatable {
    /// What it does, after it came or made a link by itself. Only the answer to the last of them counts.
    case whatIsThere(UInt64)
    /// What a link to this access point of the network has negotiated.
    case protection(StoredNetwork, BSSID)
}

package enum LinkAnswer: Sendable, Equatable {
    case none
    case notLinked
    case linked(LinkFacts)
}

/// A link as wpa_supplicant tells it.
package struct LinkFacts: Sendable, Equatable {
    package var ssid: SSID?
    package var bssid: BSSID?
    package var frequency: Frequency?
    /// How the access point has authenticated the device; nil where that is none of the ways known here.
    package var security: Security?
    /// What was negotiated.
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

/// What the watch over beacons says of the access point in use.
package enum SilenceReport: Sendable, Equatable {
    /// It is to be asked.
    case suspected
    /// It is gone.
    case confirmed
    /// The radio does not count beacons: what the device receives is gone by.
    case untold
}

/// What a scan is for.
package enum ScanOwner: Sendable, Hashable {
    case policy(ScanOrder)
    /// The scan with this number, for the app that asked.
    case app(RequestID, Int)
    /// Is the access point there?
    case silence(AccessPoint, since: Instant)
    /// Has a verified access point of the network less than its link?
    case floor(NetworkID)
}

/// How a scan ended.
package enum ScanEnd: Sendable, Equatable {
    case finished([BSS])
    case aborted
    /// Another program has the radio.
    case busy(ProtocolError)
    /// The radio does not scan, though its interface is there and up.
    /// - Parameters:
    ///   - joinsUnseen: whether it looks for a network by itself when it is to join one.
    ///   - isConnecting: whether the driver says that it joins something (EAGAIN).
    case refused(ProtocolError, joinsUnseen: Bool, isConnecting: Bool = false)
    case failed(ProtocolError)

    /// Why it failed, if it did.
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

/// A command of an app. Passwords are opened and keys derived before.
package enum AgentRequest: Sendable {
    /// - Parameter switchID: what the app asks for the outcome by: chosen by chance, so from outside.
    /// - Parameter besideUplink: also where another uplink carries the traffic.
    case switchNetwork(
        SwitchTarget, confirmWithin: Int?, joinOnce: Bool, besideUplink: Bool = false, switchID: String)
    case confirmSwitch(String)
    case updateBackups(PreparedUpdate)
    case stagePassword(NewPassword)
    case dropPassword(String)
    case startScan(AppProtocol.ScanRequest)
    case openRescue(RescueAccessPoint.Reason)
    case closeRescue
}

/// Where an app wants the device.
package enum SwitchTarget: Sendable, Equatable {
    case stored(NetworkHash)
    /// With the owner's word: the password was sent, or that there is none.
    case new(StoredNetwork)
}

/// What the core waits for.
package enum AgentTimer: Hashable, Sendable {
    /// The policy wants to be told the time.
    case policy
    /// What was learnt is to be written.
    case journal
    /// The link that was in use before is left.
    case grace(StationID)
    /// wpa_supplicant is asked again.
    case supplicantRetry(StationID)
    /// A scan that found the radio busy is tried again.
    case scanRetry
    /// The policy's scan has not ended in time.
    case scanOverdue
    /// What is missing is told.
    case trouble
    /// The next step against a fault of the radio.
    case recovery
    /// The radio's firmware is asked whether it is there.
    case radioCheck
    /// The kernel is asked whose rules it goes by.
    case country
    /// The signal is measured.
    case signal
    /// The device's own access point is reviewed.
    case rescue
    /// A staged password expires.
    case staged
}
