/// What a device can get wrong, and which checks must find it.
enum Defect: String, CaseIterable {
    case updateNotAtomic, refusalCounts, refusalTold, revisionStands, changeUntold, ifRevisionIgnored
    case oneTooMany, oneTooFew, duplicatesKept, orderLost, listGrows, hiddenLost
    case hashWithoutKey, hashOfText, passwordForgotten, oldPasswordStays, removedStillKnown
    case replayAccepted, passwordTold
    case switchesAtOnce, flagMissing, alreadyThereIgnored, wrongReason, staysAway, triedIsStored
    case outcomeTwice, outcomeForgotten, confirmsAnything, silenceConfirms, anyPasswordJoins, joinOnceKept
    case progressUntold, decisionUntold, staysLost
    case connectivityUntold, layersDisordered, portalNamesTwice, portalTooLong, portalUntold, anyPortalAnswered
    case countUntold, sealedFieldUntold, hashUntold, interfaceBeforeUplink
    case scansAtOnce, scanUnnumbered, weakestFirst, historyUnlimited

    /// Ids of checks that must fail, at least.
    var finders: [String] {
        switch self {
        case .updateNotAtomic: ["backups.atomic.unknownNetwork"]
        case .refusalCounts: ["backups.atomic.unknownNetwork", "backups.atomic.revisionConflict"]
        case .refusalTold: ["backups.atomic.revisionConflict", "backups.atomic.unknownNetwork"]
        case .revisionStands: ["backups.update.answer"]
        case .changeUntold: ["backups.update.event", "events.everybody", "events.resume"]
        case .ifRevisionIgnored: ["backups.update.revisionConflict", "backups.update.race"]
        case .oneTooMany: ["backups.update.tooManyNetworks"]
        case .oneTooFew: ["backups.update.maximum"]
        case .duplicatesKept: ["backups.update.duplicateNetwork", "backups.update.duplicateHash"]
        case .orderLost: ["backups.update.order"]
        case .listGrows: ["backups.update.replaces"]
        case .hiddenLost: ["backups.update.hidden"]
        case .hashWithoutKey: ["hashes.rule", "hashes.open", "key.seal.accepted"]
        case .hashOfText: ["hashes.bytes"]
        case .passwordForgotten: ["hashes.keep"]
        case .oldPasswordStays: ["hashes.passwordCounts", "hashes.distinct"]
        case .removedStillKnown: ["hashes.forget"]
        case .replayAccepted: ["key.seal.used"]
        case .passwordTold: ["switch.notFound"]
        case .switchesAtOnce, .flagMissing: ["switch.inProgress"]
        case .alreadyThereIgnored: ["switch.alreadyAssociated"]
        case .wrongReason: ["switch.notFound"]
        case .staysAway: ["switch.notFound"]
        case .triedIsStored: ["switch.listStands"]
        case .outcomeTwice, .outcomeForgotten: ["switch.oneOutcome"]
        case .confirmsAnything: ["switch.confirm.notWaiting"]
        case .silenceConfirms: ["switch.unconfirmed"]
        case .anyPasswordJoins: ["switch.wrongKey"]
        case .joinOnceKept: ["switch.joinOnce"]
        case .progressUntold: ["switch.events"]
        case .decisionUntold: ["switch.events"]
        case .staysLost: ["accessPoints.failover"]
        case .connectivityUntold: ["network.get.connectivity"]
        case .layersDisordered: ["diagnosis.get"]
        case .portalNamesTwice, .portalTooLong, .portalUntold: ["portal.get"]
        case .anyPortalAnswered: ["portal.answer.unknown"]
        case .countUntold: ["backups.update.tooManyNetworks"]
        case .sealedFieldUntold: ["key.seal.used", "key.seal.tampered", "key.seal.rotated", "key.seal.atomic"]
        case .hashUntold: ["switch.unknownNetwork"]
        case .interfaceBeforeUplink: ["switch.uplink"]
        case .scansAtOnce: ["scan.busy"]
        case .scanUnnumbered: ["scan.finished"]
        case .weakestFirst: ["scan.results"]
        case .historyUnlimited: ["history.get.limit"]
        }
    }
}
