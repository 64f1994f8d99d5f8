import AgentModel
import Failover

extension PeerPolicy {
    mutating func join(_ network: NetworkID, _ bss: BSS?, at now: Instant) {
        let epoch = nextNumber()
        phase = .joining(Attempt(network: network, bssid: bss?.bssid, epoch: epoch, deadline: now + model.joinLimit))
        let channels = bss.map { [$0.frequency] } ?? (channels[network] ?? []).sorted()
        actions.append(
            .join(
                LinkTarget(
                    network: network, bssid: bss?.bssid, frequencies: channels, offer: bss?.security, epoch: epoch)))
    }

    mutating func associated(_ epoch: UInt64, _ accessPoint: AccessPoint, at now: Instant) {
        guard case .joining(let attempt) = phase, attempt.epoch == epoch else { return }
        phase = .linked(
            Link(
                network: attempt.network, accessPoint: accessPoint, isOnline: false,
                addressDeadline: model.addressLimit.map { now + $0 }))
    }

    mutating func addressChanged(isReady: Bool, at now: Instant) {
        guard case .linked(var link) = phase else { return }
        defer { phase = .linked(link) }
        guard isReady else {
            link.isOnline = false
            link.addressDeadline = model.addressLimit.map { now + $0 }
            return
        }
        guard !link.isOnline else { return }
        link.isOnline = true
        link.addressDeadline = nil
        becameOnline(on: link.network, link.accessPoint)
        guard let roaming = model.roaming else { return }
        link.searchAt = now + roaming.every
        actions.append(
            .watchSignal(
                SignalWatch(
                    threshold: roaming.threshold(for: link.accessPoint.frequency), interval: roaming.every / 2,
                    unsupervisedInterval: roaming.every / 2)))
    }

    private mutating func becameOnline(on network: NetworkID, _ accessPoint: AccessPoint) {
        history.removeAll { $0 == network }
        history.append(network)
        blocks.clear(network, accessPoint.bssid)
        fruitlessScans = 0
        failures = 0
        loyalty = nil
        endCommand(.committed)
    }

    mutating func linkLost(_ end: LinkEnd, at now: Instant) {
        guard case .linked(let link) = phase else { return }
        if link.isOnline, end != .ownDoing, model.loyalty > .zero {
            loyalty = (link.network, now + model.loyalty)
        }
        if let network = networks.first(where: { $0.id == link.network }) { remember(network, link, at: now) }
        endCommand(.failed(.linkLost))
        phase = .waiting(until: now + model.afterLoss)
    }

    /// If the peer uses earlier results, keeps the lost access point in the list as seen now.
    private mutating func remember(_ network: KnownNetwork, _ link: Link, at now: Instant) {
        let bssid = link.accessPoint.bssid
        guard model.trustsMemory, let frequency = link.accessPoint.frequency else { return }
        air[bssid] = BSS(
            bssid: bssid, ssid: network.ssid, frequency: frequency, signal: link.signal ?? air[bssid]?.signal ?? -60,
            lastSeen: now, security: network.usesPassphrase ? .wpa2 : .open)
    }

    mutating func failed(_ attempt: Attempt, _ failure: JoinFailure, at now: Instant) {
        if failure == .wrongKey, !model.wrongKeyBlocks.isEmpty {
            blocks.refuse(attempt.network, at: now, ladder: model.wrongKeyBlocks)
        } else if let bssid = attempt.bssid {
            blocks.block(bssid, at: now, ladder: model.failureBlocks)
        }
        if let bssid = attempt.bssid { doubts[bssid] = now }
        endCommand(.failed(failure))
        switch model.afterFailure {
        case .nextCandidate where !queue.isEmpty: joinNext(at: now)
        case .nextCandidate:
            actions.append(.leave)
            joinNext(at: now)
        case .scan(let waits):
            actions.append(.leave)
            wait(waits.wait(after: failures), at: now)
        }
        failures += 1
    }

    // MARK: Commands

    /// Joins the target of a command. Peers have no confirmation and no rollback.
    mutating func beginSwitch(_ network: NetworkID, command id: UInt64, at now: Instant) {
        endCommand(.failed(.rejected))
        command = id
        actions.append(.switchProgress(id: id, .accepted))
        guard case .down = phase else { return join(network, nil, at: now) }
        endCommand(.failed(.interfaceDown))
    }

    mutating func endCommand(_ outcome: SwitchProgress) {
        guard let command else { return }
        self.command = nil
        actions.append(.store(.switchEnded(id: command, isCommitted: outcome == .committed)))
        actions.append(.switchProgress(id: command, outcome))
    }
}
