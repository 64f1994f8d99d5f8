import AgentModel

// From the order to join until the link is gone again.
extension FailoverPolicy {
    /// - Parameters:
    ///   - bss: the access point to join; nil for any of the network's.
    ///   - isUnseen: whether the radio has to find the network by itself, for it does not scan.
    mutating func join(
        _ network: NetworkID, at bss: BSS?, isUnseen: Bool = false, purpose: Purpose, cause: PolicyDecision.Cause,
        costs: PolicyDecision.Costs? = nil, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        if purpose == .automatic, isStandby(network) {
            return leaveForStandby(network, because: cause, at: now, &actions)
        }
        let isBeside = isJoinedBeside(network)
        let isQuiet = isUnseen && refusedScans.isReported
        let isUnseen = isUnseen || refusedScans.isBlind
        var leavesAWorkingLink = false
        if case .online(let link) = phase {
            leavesAWorkingLink = purpose == .automatic && link.uselessness == nil
            if !isBeside {
                left(
                    link, byOwnChoice: purpose == .automatic && link.network != network, isEnd: isBreaking,
                    at: now)
                actions.append(.watchSignal(nil))
            }
        }
        if !isBeside, visit?.network != network { visit = nil }
        if !isQuiet {
            let considered = considerations(choosing: network, at: now)
            record(
                purpose == .standby ? .standby : .join, from: current, to: network, fromBSSID: phase.accessPoint?.bssid,
                toBSSID: bss?.bssid, cause,
                considered: considered, costs: costs, at: now, &actions)
        }
        epoch += 1
        histories[network, default: NetworkHistory()].setOut(for: bss?.bssid, at: now)
        // The radio is needed now, and what a long scan of all channels would find is not.
        if let scan, scan.order.frequencies.isEmpty { actions.append(.cancelScan) }
        let joining = Phase.joining(
            Attempt(
                network: network, bssid: isUnseen ? nil : bss?.bssid, epoch: epoch, purpose: purpose, cause: cause,
                began: now,
                addressLimit: histories[network]?.moves.addressLimit(insteadOfBadLink: isCongested || isLosingFrames),
                addressPatience: addressPatience(of: network, for: purpose, at: now),
                deadline: now
                    + (isUnseen || isUnverified(bss?.bssid, of: network) ? settings.unprovenLimit : settings.joinLimit),
                replaceableFrom: purpose == .automatic && !isBeside && !isUnseen
                    ? replaceable(network, from: now) : nil,
                rivals: (attempt?.rivals ?? []).union(
                    candidates(at: now).map(\.network.id) + [phase.network].compactMap(\.self)),
                leavesALivingLink: leavesAWorkingLink, isUnseen: isUnseen))
        let frequencies = bss.map { [$0.frequency] } ?? scanCache.places(of: network)
        let target = LinkTarget(
            network: network, bssid: isUnseen ? nil : bss?.bssid, frequencies: frequencies,
            offer: isUnseen ? scanCache.latest(of: network)?.security : bss?.security, epoch: epoch, isUnseen: isUnseen)
        if isBeside {
            successorLink = LinkMachine(joining)
            actions.append(.joinBeside(target))
        } else {
            watchAnew()
            link = LinkMachine(joining)
            actions.append(.join(target))
        }
        if case .commanded = purpose, let command { actions.append(.switchProgress(id: command.id, .joining)) }
    }

    /// A handshake with the network's key is done, where it has one.
    mutating func opened(_ network: NetworkID, _ accessPoint: AccessPoint) {
        let hasKey = self.network(network)?.usesPassphrase ?? false
        if hasKey { histories[network, default: NetworkHistory()].opened(accessPoint.bssid) }
        if let frequency = accessPoint.frequency { scanCache.note(frequency, of: network, isProven: hasKey) }
    }

    /// The link goes on with another access point of its network, which knew its key as well, or on another channel.
    mutating func moved(
        in network: NetworkID, from before: AccessPoint, to after: AccessPoint, _ role: Role,
        _ actions: inout [PolicyAction]
    ) {
        if before.bssid != after.bssid {
            opened(network, after)
            if role == .inUse { watchAnew() }
        } else if let frequency = after.frequency {
            scanCache.moved(after.bssid, of: network, to: frequency)
        }
        if role == .inUse, case .online = phase { watchSignal(of: after, &actions) }
    }

    /// Whether an access point is unproven: the network's key has opened others, and not this one.
    public func isUnverified(_ bssid: BSSID?, of network: NetworkID) -> Bool {
        bssid.flatMap { histories[network]?.isUnproven($0) } ?? false
    }

    /// The device was connected before the policy was there to decide it.
    mutating func adopt(_ network: NetworkID, _ accessPoint: AccessPoint, at now: Instant) {
        guard case .offline = phase, self.network(network) != nil else { return }
        if let frequency = accessPoint.frequency { scanCache.note(frequency, of: network, isProven: true) }
        epoch += 1
        var purpose = Purpose.automatic
        if let command, case .comeBack(let failure) = command.mission, command.destination == network {
            purpose = .rollback(failure)
        }
        let attempt = Attempt(
            network: network, bssid: accessPoint.bssid, epoch: epoch, purpose: purpose, cause: .linkFound,
            deadline: now + settings.addressLimit)
        link = LinkMachine(.waitingForAddress(attempt, accessPoint))
    }

    mutating func goOnline(
        _ attempt: Attempt, _ accessPoint: AccessPoint, _ role: Role, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        if attempt.purpose == .standby { return standsBy(attempt, accessPoint, at: now) }
        let network = attempt.network
        if role == .successor { takeOver(attempt, accessPoint, at: now, &actions) }
        histories[network, default: NetworkHistory()].joined()
        histories[network]?.worked(at: accessPoint.bssid)
        if role == .inUse, let began = attempt.began { histories[network]?.moves.joined(after: now - began) }
        search = Search()
        watchAnew()
        if attempt.cause != .preferred { preferredReturn.scanAgain(at: now + settings.preferredScan.first) }
        if network == preferred { preferredReturn.hasReturned(at: now) }
        if unseenScans.next == nil { unseenScans.next = now + settings.scanInterval.unseenDelay }
        // The station of a link that was left is free when that has had its time.
        standby.lookAgain(at: now + (role == .successor ? settings.spareGrace : .zero) + Standby.delay)
        var online = Link(
            network: network, accessPoint: accessPoint, since: now, epoch: attempt.epoch, cause: attempt.cause)
        if settings.validation != nil, !attempt.isValidated { online.validation.askAgain(at: now) }
        if attempt.isValidated {
            online.validation.ended(well: true, next: settings.validation.map { now + $0.interval })
        }
        link = LinkMachine(.online(online))
        record(.online, to: network, toBSSID: accessPoint.bssid, attempt.cause, at: now, &actions)
        watchSignal(of: accessPoint, &actions)
        finishCommand(after: attempt, at: now, &actions)
    }

    mutating func attemptFailed(
        _ attempt: Attempt, _ failure: JoinFailure, _ role: Role, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        let signal = scanCache.best(of: attempt.network, since: now - settings.joinLimit)?.signal
        if failure == .noAddress { histories[attempt.network]?.moves.addressWasLate() }
        let saysNothing = attempt.isUnseen && !saysSomething(failure)
        if !saysNothing {
            record(
                .failed, from: attempt.network, fromBSSID: attempt.bssid, .failure(failure), signal: signal, at: now,
                &actions)
            strike(attempt, role, failure, signal: signal, at: now, &actions)
        }
        switch role {
        case .successor:
            // Nothing was left, and so there is nothing to return to.
            successorLink = nil
            actions.append(.leaveSuccessor(epoch: attempt.epoch))
        case .inUse:
            link = LinkMachine()
            visit = nil
            search.scanAgain(at: now, because: saysNothing ? search.cause : .failure(failure), settings: settings)
            if !failure.isOfTheNetwork { search.pause(until: now + settings.scanInterval.known.first) }
        }
        // An unproven access point is no reason not to return: unproven ones have a wait of their own.
        let isUnproven = isUnverified(attempt.bssid, of: attempt.network)
        if attempt.cause == .preferred {
            if isUnproven {
                preferredReturn.scanAgain(at: now)
            } else {
                returnFailed(attempt, failure, at: now)
            }
        } else if attempt.network == preferred, failure.isOfTheCredential, !isUnproven {
            returnRefused(attempt, at: now)
        }
        switch attempt.purpose {
        case .commanded: commandedJoinFailed(failure, at: now, &actions)
        case .rollback(let reason): endCommand(.failed(reason), &actions)
        case .standby: standby.failed(at: now)
        case .automatic: break
        }
        proceed(at: now, &actions)
        if case .offline = phase { actions.append(.leave) }
    }

    /// Holds a failure against a network, or against one of its access points.
    private mutating func strike(
        _ attempt: Attempt, _ role: Role, _ failure: JoinFailure, signal: Int?, at now: Instant,
        _ actions: inout [PolicyAction]
    ) {
        guard failure.isOfTheNetwork else { return }
        let (network, bssid, isFailedMove) = (attempt.network, attempt.bssid, attempt.leavesALivingLink)
        var history = histories[network, default: NetworkHistory()]
        defer { histories[network] = history }
        if failure == .captive || failure == .noInternet {
            history.wasUseless(failure, over: bssid, at: now, settings: settings)
            return
        }
        let outage = search.since.map { now - $0 } ?? .zero
        if let bssid, failure.isOfTheAccessPoint, history.isUnproven(bssid) {
            return history.unprovenFailed(
                at: bssid, failure, isFailedMove: isFailedMove, signal: signal, after: outage, at: now,
                settings: settings
            )
        }
        // It is not known which access point refused the key.
        if bssid == nil, failure == .wrongKey, !history.proven.isEmpty { return }
        if [.notFound, .timeout, .linkLost].contains(failure) { history.gone(at: now) }
        let isAlone = !isFailedMove && role == .inUse && !hasOther(than: network, at: now)
        // One that the key has opened speaks for all that have it.
        let isOfAll =
            failure == .wrongKey && bssid.map(history.proven.contains) ?? false && hasOther(than: network, at: now)
        if let bssid, failure.isOfTheAccessPoint, !isOfAll, history.blamesAccessPoints,
            hasOther(than: bssid, of: network, at: now)
        {
            // The others were not gone.
            history.failed(at: bssid, failure, signal: signal, at: now, settings: settings)
            history.isBack()
            return
        }
        history.stumbled(after: outage, at: now, settings: settings)
        if history.failed(
            failure, isFailedMove: isFailedMove, isAlone: isAlone, signal: signal, at: now, settings: settings)
        {
            search.holdLastResort(at: now, settings: settings)
            record(.blocked, from: network, fromBSSID: bssid, .failure(failure), signal: signal, at: now, &actions)
        }
    }

    /// Time that the address of a join always gets. A command has to end soon.
    private func addressPatience(of network: NetworkID, for purpose: Purpose, at now: Instant) -> Duration {
        let isAlone = purpose == .automatic && current == nil && !hasOther(than: network, at: now)
        let limit = isAlone ? settings.addressLimit : nil
        let patience = histories[network]?.moves.addressPatience(withoutOthers: limit) ?? .zero
        switch purpose {
        case .automatic, .standby: return patience
        case .commanded, .rollback: return min(patience, settings.addressLimit * 2)
        }
    }

    /// Whether another network was seen lately that can be joined.
    private func hasOther(than network: NetworkID, at now: Instant) -> Bool {
        networks.contains { other in
            let start = max(
                now - settings.freshness - settings.joinLimit, histories[other.id]?.goneSince ?? .distantPast)
            return other.id != network
                && scanCache.accessPoints(of: other.id, since: start).contains { isOpen($0, of: other.id, at: now) }
        }
    }

    /// Whether another access point of a network was seen lately that nothing is held against.
    private func hasOther(than bssid: BSSID, of network: NetworkID, at now: Instant) -> Bool {
        let history = histories[network]
        // Observations from before the join began count too, and the join may have taken its time.
        return scanCache.accessPoints(of: network, since: now - settings.freshness - settings.joinLimit).contains {
            $0.bssid != bssid && !(history?.isBlocked($0.bssid, at: now) ?? false)
                && !(history?.isUnproven($0.bssid) ?? false)
        }
    }

    mutating func lose(
        _ link: Link, _ cause: PolicyDecision.Cause, _ end: LinkEnd, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        record(.lost, from: link.network, fromBSSID: link.accessPoint.bssid, cause, at: now, &actions)
        left(link, byOwnChoice: cause != .interfaceDown, isEnd: end != .ownDoing, at: now)
        if end != .ownDoing {
            histories[link.network, default: NetworkHistory()].gone(at: now)
            wasLost(link, at: now)
        }
        actions.append(.watchSignal(nil))
        if successor != nil { return fallToSuccessor(because: cause, at: now, &actions) }
        // A scan of all channels takes seconds; what is needed now takes a fraction of one.
        if let scan, scan.order.frequencies.isEmpty, scan.order.reason != .commanded { actions.append(.cancelScan) }
        self.link = LinkMachine()
        let wasVisiting = visit != nil
        visit = nil
        search = Search(
            cause: cause,
            silence: end == .silence ? Search.Place(network: link.network, frequency: link.accessPoint.frequency) : nil)
        search.startOver(at: now, settings: settings)
        // A network that was there a moment ago comes back where it was, if it does so at once.
        if networks.allSatisfy({ !scanCache.places(of: $0.id).isEmpty }) {
            search.awaitReconnect(at: now, settings: settings)
        }
        proceed(at: now, &actions)
        // wpa_supplicant is not to keep what is to be forgotten.
        if wasVisiting, case .offline = phase { actions.append(.leave) }
    }

    /// That a link ends which was in use blocks nothing, however often it happens.
    private mutating func wasLost(_ link: Link, at now: Instant) {
        guard now - link.since < settings.shortLink else { return }
        histories[link.network, default: NetworkHistory()].stumbled(after: .zero, at: now, settings: settings)
    }

    /// A link has ended that was in use.
    ///
    /// - Parameters:
    ///   - byOwnChoice: not by command.
    ///   - isEnd: whether it could not be used any longer.
    mutating func left(_ link: Link, byOwnChoice: Bool, isEnd: Bool, at now: Instant) {
        histories[link.network]?.moves.lasted(now - link.since, isEnd: isEnd)
        if now - link.since >= settings.shortLink { histories[link.network]?.held() }
        if link.network == preferred, isCongested { preferredReturn.leftJammed(at: now, settings: settings) }
        guard link.cause == .preferred, byOwnChoice else { return }
        preferredReturn.left(after: now - link.since, settings: settings)
    }

    /// The link lives, but its address went and did not come back.
    mutating func addressGone(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        let cause = PolicyDecision.Cause.failure(.noAddress)
        histories[link.network, default: NetworkHistory()].lostAddress()
        wasLost(link, at: now)
        guard successor == nil else { return lose(link, cause, .ownDoing, at: now, &actions) }
        record(.failed, from: link.network, fromBSSID: link.accessPoint.bssid, cause, at: now, &actions)
        left(link, byOwnChoice: true, isEnd: true, at: now)
        actions.append(.watchSignal(nil))
        self.link = LinkMachine()
        visit = nil
        search.scanAgain(at: now, because: cause, settings: settings)
        proceed(at: now, &actions)
        if case .offline = phase { actions.append(.leave) }
    }

    mutating func interfaceChanged(isUp: Bool, at now: Instant, _ actions: inout [PolicyAction]) {
        interfaceUpAt = isUp ? nil : interfaceUpAt ?? now + settings.interfaceGrace
        // A link that was reported before its interface ends with it too.
        guard isUp != isInterfaceUp || !isUp && phase.network != nil else { return }
        isInterfaceUp = isUp
        refusedScans.endPause()
        if isUp {
            search.startOver(at: now, settings: settings)
            proceed(at: now, &actions)
        } else {
            scan = nil
            interrupt(.interfaceDown, at: now, &actions)
        }
    }

    mutating func supplicantChanged(isAvailable: Bool, at now: Instant, _ actions: inout [PolicyAction]) {
        guard isAvailable != isSupplicantAvailable else { return }
        isSupplicantAvailable = isAvailable
        if isAvailable {
            search.startOver(at: now, settings: settings)
            if scan == nil, bestCandidate(at: now) == nil { search.forgetQuickScan() }
            proceed(at: now, &actions)
        } else if attempt != nil || command != nil && successor == nil {
            // Whether a finished link outlives its supplicant depends on the driver: the kernel tells.
            interrupt(.supplicantUnavailable, at: now, &actions)
        }
    }

    /// Nothing can be joined for now, and what was under way is over.
    private mutating func interrupt(_ failure: JoinFailure, at now: Instant, _ actions: inout [PolicyAction]) {
        if let attempt {
            attemptFailed(attempt, failure, .inUse, at: now, &actions)
        } else if case .online(let link) = phase, failure == .interfaceDown {
            let hasSuccessor = successor != nil
            lose(link, .interfaceDown, .ownDoing, at: now, &actions)
            // The other interface goes on with it.
            if hasSuccessor { return }
        }
        abandonCommand(failure, at: now, &actions)
    }
}
