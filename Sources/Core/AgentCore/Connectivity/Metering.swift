import AgentModel
import Failover

/// Rules for metered links, whose traffic is limited or paid by volume.
package enum Metering {
    /// Factor by which a metered link lengthens the intervals of routine checks over the internet, and of keep-alives
    /// of connections to targets.
    package static let factor = 10

    /// Decides whether the traffic over an uplink is metered.
    /// - Parameters:
    ///   - uplink: Uplink below all tunnels.
    ///   - owner: Option of the Wi-Fi network that the owner has set; nil for none.
    ///   - server: Whether the DHCP server of the Wi-Fi network says that the network is metered.
    package static func isMetered(_ uplink: Uplink, owner: Bool?, server: Bool) -> Bool {
        switch uplink {
        case .wifi: owner ?? server
        case .cellular: true
        case .wired, .other: false
        }
    }
}

/// Tells routine probes from others, and postpones them on a metered link.
///
/// A probe is routine if the policy waited its full interval after a success, and nothing has happened meanwhile.
/// Probes after a join, a failure, a doubt, a command or a sleep come earlier or follow another event.
struct RoutineProbes: Sendable {
    /// Link and time of the last success; nil after an event that calls for a probe.
    private var success: (epoch: UInt64, moment: Instant)?

    mutating func record(_ event: PolicyEvent, at now: Instant) {
        switch event {
        case .probed(let epoch, .online): success = (epoch, now)
        case .probed, .doubted, .signingIn, .resumed, .switchTo, .linkFound, .supplicant, .settings: success = nil
        default: break
        }
    }

    /// Returns when the probe of a metered link should be made; nil for now.
    /// - Parameters:
    ///   - epoch: Epoch of the link.
    ///   - interval: Time from a success to the next routine probe on a link that is not metered.
    func postponement(of epoch: UInt64, interval: Duration, at now: Instant) -> Instant? {
        guard let success, success.epoch == epoch, now - success.moment >= interval else { return nil }
        let due = success.moment + interval * Metering.factor
        return due > now ? due : nil
    }
}

// Metered links.
extension AgentCore {
    /// Whether the traffic over an uplink is metered. For Wi-Fi this is the traffic over the network in use.
    func isMetered(_ uplink: Uplink) -> Bool {
        Metering.isMetered(
            uplink, owner: policy.phase.network.flatMap { registry[$0] }?.options.isMetered,
            server: current.isMeteredByServer)
    }

    /// Returns when a probe that the policy asks for should be made; nil for now.
    func postponement(ofProbe epoch: UInt64) -> Instant? {
        guard let interval = policy.settings.validation?.interval, isMetered(.wifi) else { return nil }
        return routineProbes.postponement(of: epoch, interval: interval, at: now.instant)
    }
}
