import AgentModel
import AppProtocol
import KeyFile

/// Change of the key file, checked and stored atomically, with learned facts and the last switch's outcome.
package struct StateChange: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Stores all learned facts, even if they are not worth a separate write.
        case learnt
        case outcome
        /// - Parameter isOwnersWord: true if the user sent the network itself, not only its hash.
        case accepted(PendingSwitch, target: StoredNetwork, joinOnce: Bool, isOwnersWord: Bool)
        case backups(PreparedUpdate, localKey: Secret)
        case staged(NewPassword)
        /// Ends a staged password, by change ID.
        case stagedEnded(String, StagedPassword.Phase)
        case named(DeviceName?)
    }

    package let kind: Kind
    let statistics: PendingStatistics
    let clock: ClockReading
    /// Seconds until each staged password expires, by change ID.
    let staged: [String: UInt32]

    /// - Throws: `ProtocolError` if the change does not fit the stored state. Discard `state` then, as it may have
    ///   changed.
    package func apply(to state: inout StoredState) throws(ProtocolError) {
        try applyKind(to: &state)
        state.countStaged(staged)
    }

    private func applyKind(to state: inout StoredState) throws(ProtocolError) {
        switch kind {
        case .learnt: statistics.update(&state, clock)
        case .outcome: statistics.update(&state, clock) { _ in }
        case .accepted(let pending, let target, let joinOnce, let isOwnersWord):
            statistics.update(&state, clock) { state in
                state.pendingSwitch = pending
                if isOwnersWord { state.applyUserSetting(for: target) }
                // The stored copy has learned facts, such as the security.
                if !joinOnce, let known = state.namedNetworks.first(where: { $0.isSame(as: target) }) {
                    state.pendingSwitch?.target = known
                }
            }
        case .backups(let update, let localKey):
            try statistics.update(&state, clock) { state throws(ProtocolError) in
                try state.apply(update, localKey: localKey)
            }
        case .staged(let password):
            let now = clock.seconds(of: clock.instant)
            try statistics.update(&state, clock) { state throws(ProtocolError) in
                try state.stage(password, at: now)
            }
        case .stagedEnded(let changeID, let phase):
            statistics.update(&state, clock) { $0.endRotation(changeID, phase) }
        case .named(let name): statistics.update(&state, clock) { $0.name = name }
        }
    }
}
