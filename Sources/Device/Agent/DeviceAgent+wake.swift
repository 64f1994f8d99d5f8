import AgentModel
import Failover
import Linux

extension DeviceAgent {
    /// Until the policy wants to be told the time, at the latest. A policy that wants it in the past has a fault, which must not
    /// keep the device busy.
    ///
    /// - Parameters:
    ///   - event: what the policy was told last.
    ///   - now: when.
    func sleep(after event: PolicyEvent, at now: Instant) {
        let moment = wakeGuard.moment(for: policy.nextWake, at: now, isWoken: event == .tick)
        if wakeGuard.isNews { log.error("\(wishForThePast(after: event, at: now))") }
        wake = moment.map { moment in
            LoopTimer(after: moment - .now) { [weak self] in self?.handle(.tick) }
        }
    }

    /// What it takes to find the fault.
    private func wishForThePast(after event: PolicyEvent, at now: Instant) -> String {
        """
        the failover policy wants to be woken in the past (wish \(wakeGuard.count) of the kind) and is woken later; please report \
        this with a recording (ALTNET_RECORD): after \(event.recorded.prefix { $0 != " " }) in state \
        \(policy.phase.linkState.rawValue), successor \(policy.successor?.linkState.rawValue ?? "none"), validation \(policy.settings.validation == nil ? "off" : "on"), due are \
        \(policy.deadlines(at: now))
        """
    }
}
