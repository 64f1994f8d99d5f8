import KeyFile

/// Outcome of a commanded switch for the key file.
package struct SwitchOutcome: Sendable, Equatable {
    let switchID: String
    let isCommitted: Bool
    let isResumed: Bool
}

extension StoredState {
    /// Ends the pending switch and adopts its target on success. Repeated calls and outcomes of other switches have no
    /// effect.
    mutating func applyOutcome(_ outcome: SwitchOutcome) {
        guard let pending = pendingSwitch, pending.id == outcome.switchID else { return }
        // After an interruption, a device without another network keeps the target. The target is nil for an ephemeral
        // network.
        if let target = pending.target, outcome.isCommitted || (outcome.isResumed && namedNetworks.isEmpty) {
            adopt(target)
        }
        pendingSwitch = nil
    }
}
