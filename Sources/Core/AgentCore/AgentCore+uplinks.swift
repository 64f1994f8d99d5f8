import AgentModel
import AppProtocol
import Failover

/// State of the choice between Wi-Fi and other uplinks.
struct UplinkChoice: Sendable {
    /// Verdicts on uplinks other than the stations.
    var verdicts: [UplinkCandidate: UplinkVerdict] = [:]
    /// Uplinks that are being checked.
    var checked: [UplinkCandidate] = []
    /// Epoch of the last Wi-Fi link that a probe has checked with success, or could not because the budget is used up.
    var checkedLink: UInt64?
    /// Uplink that the agent prefers to the kernel's choice; nil for the kernel's choice.
    var preferred: UplinkCandidate?
    /// Whether the history has `uplinkFailed` without a later `uplinkRestored`.
    var isAnnounced = false
    var isAtWork = false
}

// The traffic goes over the first uplink, in the kernel's order, that a check has shown to reach the required level.
// Without one, the kernel's choice carries it, or Wi-Fi if that choice has failed and Wi-Fi has not.
extension AgentCore {
    /// Candidates in the kernel's order, without the station that is not in use.
    private var uplinkOrder: [UplinkCandidate] {
        guard let spare else { return kernel.uplinks }
        return kernel.uplinks.filter { $0.interface != spare.interface }
    }

    private func isStation(_ uplink: UplinkCandidate) -> Bool { uplink.interface == inUse.interface }

    /// Whether the Wi-Fi link reaches the required level; nil without a validated link.
    private var wifiReachesLevel: Bool? {
        guard case .online(let link) = policy.phase else { return nil }
        guard link.uselessness == nil else { return false }
        return policy.settings.validation == nil || uplinkChoice.checkedLink == link.epoch ? true : nil
    }

    /// Records what the connectivity monitor found about a Wi-Fi link.
    mutating func recordCheck(_ finding: PolicyEvent) {
        switch finding {
        case .probed(let epoch, .online), .postponed(let epoch, _): uplinkChoice.checkedLink = epoch
        default: break
        }
    }

    /// Whether the uplink reaches the required level; nil if that is not checked yet.
    private func reachesLevel(_ uplink: UplinkCandidate) -> Bool? {
        guard uplink.isConnected else { return false }
        if isStation(uplink) { return wifiReachesLevel }
        return uplinkChoice.verdicts[uplink].map { $0 == .reachesLevel }
    }

    /// Other uplink that the policy can rely on: it carries the traffic and has not failed. Nil if it stands in for a
    /// Wi-Fi link that failed, so that Wi-Fi goes on to look for a better network.
    var reliableUplink: Uplink? {
        guard let kind = kernel.otherUplink else { return nil }
        let order = uplinkOrder
        guard let position = order.firstIndex(where: { $0.interface == kernel.otherUplinkInterface }) else {
            return kind
        }
        let uplink = order[position]
        let isUsable = isRecovering(uplink) || reachesLevel(uplink) ?? true
        return order[..<position].contains(where: isStation) || !isUsable ? nil : kind
    }

    private func isRecovering(_ uplink: UplinkCandidate) -> Bool {
        uplink.isConnected && uplinkChoice.verdicts[uplink] == .recovering
    }

    /// Uplinks other than Wi-Fi that were checked and failed, with their problems.
    package var failedUplinks: [(interface: String, problem: ReachProblem)] {
        uplinkOrder.compactMap { uplink in
            guard case .failed(let problem) = uplinkChoice.verdicts[uplink] else { return nil }
            return (uplink.interface, problem)
        }
    }

    mutating func judged(_ verdicts: [UplinkCandidate: UplinkVerdict]) {
        let before = uplinkChoice.verdicts
        uplinkChoice.verdicts = verdicts
        for (uplink, verdict) in verdicts.sorted(by: { $0.key.interface < $1.key.interface }) {
            switch (before[uplink], verdict) {
            case (.failed?, .failed), (.recovering?, .failed): break
            case (_, .failed(let problem)):
                log(.warning, "\(uplink.interface) does not reach the required level: \(problem.rawValue)")
            case (_, .recovering): log(.info, "\(uplink.interface) is recovering, and used after more good checks")
            case (.failed?, .reachesLevel), (.recovering?, .reachesLevel):
                log(.notice, "\(uplink.interface) reaches the required level again")
            case (_, .reachesLevel): log(.debug, "\(uplink.interface) reaches the required level")
            }
        }
        checkRoutes()
    }

    /// Returns the first uplink that reaches the required level. Without one, returns the kernel's choice or Wi-Fi if
    /// it has not failed, else an uplink that is recovering.
    private func bestUplink(_ order: [UplinkCandidate]) -> UplinkCandidate? {
        order.first { reachesLevel($0) == true }
            ?? order.first { reachesLevel($0) == nil && ($0 == order.first || isStation($0)) }
            ?? order.first(where: isRecovering)
    }

    /// Chooses the uplink and what to check. Has no effect if nothing has changed since the last review.
    mutating func reviewUplinks() {
        guard uplinkChoice.isAtWork else { return }
        let order = uplinkOrder
        if !order.isEmpty, reliableUplink != lastPublished.otherUplink { checkRoutes() }
        let checked = uplinksToCheck(order)
        if checked != uplinkChoice.checked {
            let lost = uplinkChoice.checked.filter { !order.contains($0) }
            uplinkChoice.checked = checked
            emit(.checkUplinks(checked, lost: lost))
        }
        let best = bestUplink(order)
        let preferred = best == order.first ? nil : best
        if preferred != uplinkChoice.preferred {
            uplinkChoice.preferred = preferred
            emit(.prefer(preferred))
            if let preferred, let first = order.first, reachesLevel(first) == false {
                uplinkChoice.isAnnounced = true
                report("uplinkFailed", "traffic goes over \(preferred.interface) instead of \(first.interface)")
            }
        }
        if preferred == nil, uplinkChoice.isAnnounced, let first = order.first, reachesLevel(first) == true {
            uplinkChoice.isAnnounced = false
            report("uplinkRestored", "traffic goes over \(first.interface) again")
        }
    }

    private mutating func report(_ reason: String, _ text: String) {
        log(.notice, text)
        let entry = lastPublished.history.append(
            kind: Decision.Kind(rawValue: "uplink"), reason: ReasonCode(rawValue: reason), text: text, at: now)
        emit(.publish(.decision(entry)))
    }

    /// Returns the uplinks to check: those up to the first that reaches the required level. Checks of further ones
    /// would have no effect. Wi-Fi without a result ends the list too, unless another uplink reaches the level.
    private func uplinksToCheck(_ order: [UplinkCandidate]) -> [UplinkCandidate] {
        guard order.count > 1 || !policy.networks.isEmpty else { return [] }
        let doesAnyReachLevel = order.contains { reachesLevel($0) == true }
        var checked: [UplinkCandidate] = []
        for uplink in order where uplink.isConnected {
            if !isStation(uplink) { checked.append(uplink) }
            if reachesLevel(uplink) ?? (isStation(uplink) && !doesAnyReachLevel) { break }
        }
        return Array(checked.prefix(UplinkValidation.maximumUplinks))
    }

    mutating func stopUplinks() {
        if !uplinkChoice.checked.isEmpty { emit(.checkUplinks([], lost: [])) }
        uplinkChoice = UplinkChoice()
    }
}
