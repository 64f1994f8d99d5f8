import AgentModel
import Failover

// Reports of the device's parts.
extension World {
    mutating func answer(_ order: Answer.Order) throws(Violation) {
        switch order {
        case .scan(let order): try scanned(order)
        case .join(let target): try joined(target, isBeside: false)
        case .joinBeside(let target): try joined(target, isBeside: true)
        case .address(let epoch):
            if var beside, beside.epoch == epoch, accessPoints[beside.accessPoint].givesAddress {
                beside.hasAddress = true
                self.beside = beside
                return try send([.successorAddress(epoch: epoch, isReady: true)])
            }
            guard var link, link.epoch == epoch, accessPoints[link.accessPoint].givesAddress else { return }
            link.hasAddress = true
            self.link = link
            try send([.address(isReady: true)])
        case .probe(let epoch):
            guard let link = beside?.epoch == epoch ? beside : link,
                link.epoch == epoch || watched.policy.phase.network != nil
            else { return }
            let site = accessPoints[link.accessPoint]
            // The budget for questions is used up now and then.
            if noise(salt: 10) > 2 { return try send([.postponed(epoch: epoch, until: now + .seconds(8))]) }
            // Dead internet is no answer as often as it is a refusal.
            if site.internet == .failed, noise(salt: 7) > 0 { return }
            guard link.hasAddress else { return try send([.probed(epoch: epoch, .failed)]) }
            if site.internet == .captive, noise(salt: 8) > 0 {
                answers.append(Answer(at: now + .seconds(5), order: .signIn(epoch: epoch)))
                return try send([.signingIn(epoch: epoch, until: now + .seconds(noise(salt: 9) > 0 ? 30 : 3))])
            }
            try send([.probed(epoch: epoch, site.internet)])
        case .silence(let epoch):
            guard let link, link.epoch == epoch, link.hasAddress else { return }
            try send([.doubted(epoch: epoch)])
        case .signIn(let epoch):
            guard let link, link.epoch == epoch else { return }
            try send([.probed(epoch: epoch, accessPoints[link.accessPoint].internet)])
        case .linkBroken(let epoch):
            if let beside, beside.epoch == epoch, !accessPoints[beside.accessPoint].isAlive {
                self.beside = nil
                return try send([.successorLost(epoch: epoch)])
            }
            guard let link, link.epoch == epoch, !accessPoints[link.accessPoint].isAlive else { return }
            self.link = nil
            watch = nil
            nextSample = nil
            try send([.linkLost(.silence)])
        case .interfaceUp: try bringInterfaceUp()
        case .confirmation(let id): try send([.confirmed(id: id)])
        }
    }

    mutating func bringInterfaceUp() throws(Violation) {
        guard !isInterfaceUp else { return }
        isInterfaceUp = true
        try send([.interface(isUp: true)])
    }

    private mutating func scanned(_ order: ScanOrder) throws(Violation) {
        guard isInterfaceUp else { return try send([.scanFailed(id: order.id)]) }
        var results: [BSS] = []
        for (index, site) in accessPoints.enumerated() where site.isAlive {
            let signal = site.level + noise(salt: UInt64(index) + 100)
            let observation = Neighbourhood.observation(of: index, signal: signal, lastSeen: now)
            guard order.frequencies.isEmpty || order.frequencies.contains(observation.frequency), signal > -95 else {
                continue
            }
            results.append(observation)
        }
        try send([.scanned(id: order.id, results)])
    }

    private mutating func joined(_ target: LinkTarget, isBeside: Bool) throws(Violation) {
        guard isInterfaceUp || isBeside else { return try send([.joinFailed(epoch: target.epoch, .interfaceDown)]) }
        guard isSupplicantRunning || isBeside else {
            return try send([.joinFailed(epoch: target.epoch, .supplicantUnavailable)])
        }
        let fitting = accessPoints.indices.filter { index in
            let accessPoint = Neighbourhood.accessPoint(index)
            return accessPoints[index].isAlive && accessPoints[index].level > -92
                && watched.policy.networks.contains { known in
                    known.id == target.network
                        && known.ssid == Neighbourhood.network(Neighbourhood.networkIndex(ofAccessPoint: index)).ssid
                } && (target.bssid ?? accessPoint.bssid) == accessPoint.bssid
        }
        guard let index = fitting.max(by: { accessPoints[$0].level < accessPoints[$1].level }) else {
            return try send([.joinFailed(epoch: target.epoch, .notFound)])
        }
        switch accessPoints[index].fault {
        // Nothing is heard of it: the policy's own patience ends it.
        case .timeout: return
        case let fault?: return try send([.joinFailed(epoch: target.epoch, fault)])
        case nil: break
        }
        let made = Link(accessPoint: index, epoch: target.epoch)
        if isBeside { beside = made } else { link = made }
        answers.append(Answer(at: now + .seconds(1), order: .address(epoch: target.epoch)))
        try send([.associated(epoch: target.epoch, Neighbourhood.accessPoint(index))])
    }

    /// Measures the link.
    mutating func sample() throws(Violation) {
        guard let link, let watch else {
            nextSample = nil
            return
        }
        let signal = accessPoints[link.accessPoint].level + noise(salt: UInt64(link.accessPoint))
        // A driver that watches the threshold tells at once what another one tells at the next sample.
        let isTelling = traits.isSupervised && signal < watch.threshold
        let interval =
            traits.isSupervised ? min(watch.interval, .seconds(isTelling ? 3 : 10)) : watch.unsupervisedInterval
        nextSample = now + interval
        try send([.signal(signal)])
    }
}

extension World.Site {
    /// Whether the device hears it.
    var isAlive: Bool { isOn && level > -95 }

    /// Whether a device that does everything right can be online here.
    var isUsable: Bool { isOn && level >= -65 && fault == nil && givesAddress }
}
