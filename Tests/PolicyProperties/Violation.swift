import AgentModel

/// Properties of every history that the policy can live through.
package enum Property: String, CaseIterable, Sendable {
    /// With interface, supplicant and a usable network the device is online within `Bounds.online`.
    case neverStranded
    /// With a network that leads to what the device needs it is on such a one within `Bounds.validated`.
    case reachesValidated
    /// Near-equal networks under noise cause no more than `Bounds.switchesPerHour` (or `switchesPerHourAtMost`).
    case fewSwitches
    /// Every commanded switch has exactly one outcome, soon, and it is stored just before it is told.
    case oneOutcome
    /// Events of one moment give the same actions in any order.
    case orderIndependent
    /// After `.stop` nothing is wanted any more.
    case silentAfterStop
    /// The same events give the same actions.
    case repeatable
    /// The policy's memory does not grow with the time that it runs.
    case boundedMemory
    /// A due action is done at once: no wake-up lies in the past, and there are not many in a short time.
    case noHotLoop
    /// In a state that lasts there are no more than `Bounds.wakesPerHour`.
    case fewWakes
    /// Scans on a living link that leads somewhere keep to their share of the air time.
    case scanBudget
    /// A living link is left only for what was seen since there was a reason to leave it.
    case leavesForSeenOnly
    /// A blocked network is not joined while a sound one was just seen.
    case avoidsBlocked
    /// An access point that is to be joined was just seen, and is one of the network's.
    case joinsFreshObservations
    /// A link is probed only where that is set, while it is there, and not after it was replaced.
    case probesCurrentLink
    /// Every order to join or to scan has a number of its own, higher than those before.
    case freshNumbers
    /// Every order to join has its decision in the history.
    case isExplained
    /// A visit lasts for as long as the device is in its network, and no longer.
    case visitsEndWithTheLink
    /// While another uplink carries the traffic a living link is neither left nor disturbed by scans.
    case restsOnOtherUplink
    /// With a spare station a living link is left for another network only when the link to that one is there.
    case makesBeforeItBreaks
}

/// The figures that the properties promise. `Docs/contributor/failover-rules.md` repeats them.
package enum Bounds {
    package static let online = Duration.seconds(400)
    /// The same where the usable network itself failed before: with everything blocked, one network is tried every five
    /// minutes, and there are up to five.
    package static let onlineAfterFailures = Duration.seconds(1800)
    package static let validated = Duration.seconds(900)
    /// From the command, without the time that the app may take to confirm.
    package static let outcome = Duration.seconds(400)
    package static let switchesPerHour = 16
    /// Bound if every network is below the minimum signal, so that every link is about to break, or if measurements
    /// scatter by 5 dB or more.
    package static let switchesPerHourAtMost = 30
    package static let wakesPerHour = 720
    /// For 64 wake-ups with nothing in between.
    package static let shortestWait = Duration.seconds(20)
    /// Elements in all of the policy's collections, with at most twelve networks.
    package static let elements = 600
}

/// A property that did not hold.
package struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
    package let property: Property
    package let detail: String
    package let at: Instant

    package init(_ property: Property, _ detail: String, at: Instant) {
        self.property = property
        self.detail = detail
        self.at = at
    }

    package var description: String { "\(property.rawValue) at \(at.inSeconds): \(detail)" }
}

extension Instant {
    var inSeconds: String { "\(Double(milliseconds) / 1000) s" }
}
