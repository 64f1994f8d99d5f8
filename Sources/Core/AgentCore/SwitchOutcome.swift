import KeyFile

/// How a commanded switch ended, as far as the key file has to know.
package struct SwitchOutcome: Sendable, Equatable {
    let switchID: String
    let isCommitted: Bool
    /// A restart cut the switch short.
    let isResumed: Bool
}

extension StoredState {
    /// Ends a switch that is pending, and keeps the network that it was for where the device stays there. Does nothing
    /// where another switch is pending, or none: so it may be done again and again until it is stored.
    mutating func settle(_ outcome: SwitchOutcome) {
        guard let pending = pendingSwitch, pending.id == outcome.switchID else { return }
        // A device that was cut short and knows no other network keeps the one that it was sent to, if it was to stay
        // there.
        if let target = pending.target, outcome.isCommitted || (outcome.isResumed && namedNetworks.isEmpty) {
            adopt(target)
        }
        pendingSwitch = nil
    }
}
