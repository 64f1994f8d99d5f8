import Failover

/// A situation that a history has been through: promises are worth what they were tried in.
package enum Situation: String, CaseIterable, Sendable {
    case online
    case validation
    /// Another network is being joined beside the link in use.
    case handover
    case validatedHandover
    /// The next link carries traffic and is being verified.
    case validatingHandover
    case settingsDuringJoin
    case settingsDuringHandover
    case supplicantLostDuringHandover
    case interfaceLostDuringHandover
    case addressLostDuringHandover
    case linkLostDuringHandover
    case spareLostDuringHandover
    case commandDuringHandover
    case sleepDuringHandover
    /// The link in use was lost, and its successor taken as it was.
    case fallToSuccessor
    /// The successor took over by choice.
    case succession
    /// A network stood by.
    case standby
    /// The link in use was lost while one did.
    case linkLostWithStandby
    case rollback
}

extension Exchange {
    /// The situations of the policy in it.
    var situations: Set<Situation> {
        var situations: Set<Situation> = []
        if case .online = policy.phase { situations.insert(.online) }
        if policy.settings.validation != nil { situations.insert(.validation) }
        if let successor = policy.successor {
            situations.insert(.handover)
            if policy.settings.validation != nil { situations.insert(.validatedHandover) }
            if case .validating = successor { situations.insert(.validatingHandover) }
            if case .online = successor { situations.insert(.standby) }
        }
        for event in events { if let situation = situation(of: event) { situations.insert(situation) } }
        for action in actions {
            switch action {
            case .useSuccessor: situations.insert(isFall ? .fallToSuccessor : .succession)
            case .switchProgress(_, .rolledBack): situations.insert(.rollback)
            default: break
            }
        }
        return situations
    }

    private var isFall: Bool {
        actions.contains { if case .record(let decision) = $0 { decision.kind == .lost } else { false } }
    }

    private func situation(of event: PolicyEvent) -> Situation? {
        guard successorBefore != nil else {
            guard case .settings = event else { return nil }
            switch before {
            case .joining, .waitingForAddress, .validating: return .settingsDuringJoin
            case .offline, .online: return nil
            }
        }
        if case .online = successorBefore, case .linkLost = event { return .linkLostWithStandby }
        return switch event {
        case .settings: .settingsDuringHandover
        case .supplicant(isAvailable: false): .supplicantLostDuringHandover
        case .interface(isUp: false): .interfaceLostDuringHandover
        case .address(isReady: false): .addressLostDuringHandover
        case .linkLost: .linkLostDuringHandover
        case .spare(isReady: false): .spareLostDuringHandover
        case .switchTo: .commandDuringHandover
        case .resumed: .sleepDuringHandover
        default: nil
        }
    }
}
