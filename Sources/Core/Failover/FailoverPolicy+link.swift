import AgentModel

// From the order to join until the link is gone again.
extension FailoverPolicy {
    /// - Parameters:
    ///   - bss: the access point to join; nil for any of the network's.
    ///   - isUnseen: whether to join without a scan, because the radio refuses scans.
    mutating func join(
        _ network: NetworkID, at bss: BSS?, isUnseen: Bool = false, purpose: Purpose, cause: PolicyDecision.Cause,
        costs: PolicyDecision.Costs? = nil
    ) {
        if purpose == .automatic, isStandby(network) {
            return leaveForStandby(network, because: cause)
        }
        let isBeside = isJoinedBeside(network)
        let isQuiet = isUnseen && refusedScans.isReported
        let isUnseen = isUnseen || refusedScans.isBlind
        var leavesAWorkingLink = false
        if case .online(let link) = phase {
            leavesAWorkingLink = purpose == .automatic && link.uselessness == nil
            if !isBeside {
                left(link, isEnd: isBreaking)
                actions.append(.watchSignal(nil))
            }
        }
        if !isBeside, visit?.network != network { visit = nil }
        if !isQuiet {
            let considered = considerations(choosing: network)
            record(
                purpose == .standby ? .standby : .join, from: current, to: network, fromBSSID: phase.accessPoint?.bssid,
                toBSSID: bss?.bssid, cause,
                considered: considered, costs: costs)
        }
        epoch += 1
        histories[network, default: NetworkHistory()].setOut(for: bss?.bssid, at: now)
        // The join needs the radio. The results of a long scan of all channels are not needed now.
        cancelWideScan()
        let joining = Phase.joining(
            Attempt(
                network: network, bssid: isUnseen ? nil : bss?.bssid, epoch: epoch, purpose: purpose, cause: cause,
                began: now,
                addressLimit: histories[network]?.moves.addressLimit(insteadOfBadLink: isCongested || isLosingFrames),
                addressPatience: addressPatience(of: network, for: purpose),
                deadline: now
                    + (isUnseen || isUnverified(bss?.bssid, of: network)
                        ? settings.unverifiedLimit : settings.joinLimit),
                replaceableFrom: purpose == .automatic && !isBeside && !isUnseen
                    ? replaceable(network, from: now) : nil,
                rivals: (attempt?.rivals ?? []).union(
                    candidates().map(\.network.id) + [phase.network].compactMap(\.self)),
                leavesALivingLink: leavesAWorkingLink, isUnseen: isUnseen))
        let frequencies = bss.map { [$0.frequency] } ?? scanCache.places(of: network)
        let target = LinkTarget(
            network: network, bssid: (isUnseen ? nil : bss?.bssid) ?? self.network(network)?.bssid,
            frequencies: frequencies,
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

    /// Notes a handshake with the network's key, where it has one.
    mutating func opened(_ network: NetworkID, _ accessPoint: AccessPoint) {
        let hasKey = self.network(network)?.usesPassphrase ?? false
        if hasKey { histories[network, default: NetworkHistory()].opened(accessPoint.bssid) }
        if let frequency = accessPoint.frequency { scanCache.note(frequency, of: network, isVerified: hasKey) }
    }

    /// Notes that the link goes on at another access point, which knew the network's key, or on another channel.
    mutating func moved(in network: NetworkID, from before: AccessPoint, to after: AccessPoint, _ role: Role) {
        if before.bssid != after.bssid {
            opened(network, after)
            if role == .inUse { watchAnew() }
        } else if let frequency = after.frequency {
            scanCache.moved(after.bssid, of: network, to: frequency)
        }
        if role == .inUse, case .online = phase { watchSignal(of: after) }
    }

    /// Whether an access point is unverified: the network's key has opened others, and not this one.
    public func isUnverified(_ bssid: BSSID?, of network: NetworkID) -> Bool {
        bssid.map { history(of: network).isUnverified($0) } ?? false
    }

    /// Adopts a link from before the policy started.
    mutating func adopt(_ network: NetworkID, _ accessPoint: AccessPoint) {
        guard case .offline = phase, self.network(network) != nil else { return }
        if let frequency = accessPoint.frequency { scanCache.note(frequency, of: network, isVerified: true) }
        epoch += 1
        var purpose = Purpose.automatic
        if let command, case .comeBack(let failure) = command.mission, command.destination == network {
            purpose = .rollback(failure)
        }
        var attempt = Attempt(
            network: network, bssid: accessPoint.bssid, epoch: epoch, purpose: purpose, cause: .linkFound,
            addressLimit: histories[network]?.moves.addressLimit(insteadOfBadLink: false),
            addressPatience: addressPatience(of: network, for: purpose), deadline: now + settings.addressLimit,
            replaceableFrom: purpose == .automatic ? replaceable(network, from: now) : nil,
            rivals: Set(candidates().map(\.network.id)))
        attempt.awaitAddress(upTo: settings.addressLimit, context(of: LinkMachine(.joining(attempt)), isBeside: false))
        link = LinkMachine(.waitingForAddress(attempt, accessPoint))
    }

    mutating func goOnline(_ attempt: Attempt, _ accessPoint: AccessPoint, _ role: Role) {
        if attempt.purpose == .standby { return standsBy(attempt, accessPoint) }
        let network = attempt.network
        if role == .successor { takeOver(attempt, accessPoint) }
        histories[network, default: NetworkHistory()].joined()
        histories[network]?.worked(at: accessPoint.bssid)
        if role == .inUse, let began = attempt.began { histories[network]?.moves.joined(after: now - began) }
        search = Search()
        (scans[.known], scans[.full]) = (ScanPlanner.Entry(), ScanPlanner.Entry())
        watchAnew()
        if attempt.cause != .preferred { scanForPreferred(at: now + settings.preferredScan.first) }
        if network == preferred { scanForPreferred(at: nil) }
        if scans[.unseen].due == nil { scans[.unseen].due = now + settings.scanInterval.unseenDelay }
        // The station of the link that was left is free after `spareGrace`.
        scanForStandby(at: now + (role == .successor ? settings.spareGrace : .zero) + Self.standbyDelay)
        var online = Link(
            network: network, accessPoint: accessPoint, since: now, epoch: attempt.epoch, cause: attempt.cause)
        // A switch also ends in a network without internet access, if there is no way back.
        if settings.validation != nil, attempt.validation.successes == 0 {
            online.validation.askAgain(at: now)
        } else if attempt.isValidated {
            online.validation.ended(well: true, next: settings.validation.map { now + $0.interval })
        }
        link = LinkMachine(.online(online))
        record(.online, to: network, toBSSID: accessPoint.bssid, attempt.cause)
        watchSignal(of: accessPoint)
        finishCommand(after: attempt)
    }

    mutating func attemptFailed(_ attempt: Attempt, _ failure: JoinFailure, _ role: Role) {
        let signal = scanCache.best(of: attempt.network, since: now - settings.joinLimit)?.signal
        if failure == .noAddress { histories[attempt.network]?.moves.addressWasLate() }
        let saysNothing = attempt.isUnseen && !saysSomething(failure)
        if !saysNothing {
            record(.failed, from: attempt.network, fromBSSID: attempt.bssid, .failure(failure), signal: signal)
            strike(attempt, role, failure, signal: signal)
        }
        switch role {
        case .successor:
            // No link was left, so there is nothing to return to.
            successorLink = nil
            actions.append(.leaveSuccessor(epoch: attempt.epoch))
        case .inUse:
            cancelWideScan(but: .commanded)
            link = LinkMachine()
            visit = nil
            searchAgain(because: saysNothing ? search.cause : .failure(failure))
            if !failure.isOfTheNetwork { search.notBefore = now + settings.scanInterval.known.first }
        }
        // A failed unverified access point does not delay the return: unverified ones have their own wait.
        if isUnverified(attempt.bssid, of: attempt.network) {
            if attempt.cause == .preferred { scanForPreferred(at: now) }
        } else if attempt.cause == .preferred || attempt.network == preferred && failure.isOfTheCredential {
            returnFailed(attempt, isRepeated: attempt.cause == .preferred)
        }
        switch attempt.purpose {
        case .commanded: commandedJoinFailed(failure)
        case .rollback(let reason): endCommand(.failed(reason))
        case .standby: standbyFailed()
        case .automatic: break
        }
        proceed()
        if case .offline = phase { actions.append(.leave) }
    }

    /// Penalizes a network, or one of its access points, for a failure.
    private mutating func strike(_ attempt: Attempt, _ role: Role, _ failure: JoinFailure, signal: Int?) {
        guard failure.isOfTheNetwork else { return }
        let (network, bssid, isFailedMove) = (attempt.network, attempt.bssid, attempt.leavesALivingLink)
        var history = histories[network, default: NetworkHistory()]
        defer { histories[network] = history }
        if failure == .captive || failure == .noInternet {
            history.wasUseless(failure, over: bssid, at: now, settings: settings)
            return
        }
        let outage = search.since.map { now - $0 } ?? .zero
        if let bssid, failure.isOfTheAccessPoint, history.isUnverified(bssid) {
            return history.unverifiedFailed(
                at: bssid, failure, isFailedMove: isFailedMove, signal: signal, after: outage, at: now,
                settings: settings
            )
        }
        // It is not known which access point refused the key.
        if bssid == nil, failure == .wrongKey, !history.verified.isEmpty { return }
        if [.notFound, .timeout, .linkLost].contains(failure) { history.goneSince = now }
        let isAlone = !isFailedMove && role == .inUse && !hasOther(than: network)
        // A key that a verified access point refuses is wrong for the whole network.
        let isOfAll =
            failure == .wrongKey && bssid.map(history.verified.contains) ?? false && hasOther(than: network)
        if let bssid, failure.isOfTheAccessPoint, !isOfAll, history.blamesAccessPoints,
            hasOther(than: bssid, of: network)
        {
            // The network's other access points were not gone.
            history.failed(at: bssid, failure, signal: signal, at: now, settings: settings)
            history.failedAccessPoints += 1
            history.goneSince = nil
            return
        }
        history.stumbled(failure, after: outage, at: now, settings: settings)
        if history.failed(
            failure, isFailedMove: isFailedMove, isAlone: isAlone, signal: signal, at: now, settings: settings)
        {
            search.holdLastResort(at: now, settings: settings)
            record(.blocked, from: network, fromBSSID: bssid, .failure(failure), signal: signal)
        }
    }

    /// Time that a join always has to get an address. A command has to end soon.
    private func addressPatience(of network: NetworkID, for purpose: Purpose) -> Duration {
        let isAlone = purpose == .automatic && current == nil && !hasOther(than: network)
        let limit = isAlone ? settings.addressLimit : nil
        let patience = history(of: network).moves.addressPatience(withoutOthers: limit)
        switch purpose {
        case .automatic, .standby: return patience
        case .commanded, .rollback: return min(patience, settings.addressLimit * 2)
        }
    }

    /// Whether another network that can be joined was seen lately.
    private func hasOther(than network: NetworkID) -> Bool {
        networks.contains { other in
            let start = max(
                now - settings.freshness - settings.joinLimit, history(of: other.id).goneSince ?? .distantPast)
            return other.id != network
                && scanCache.accessPoints(of: other.id, since: start).contains { isOpen($0, of: other.id, at: now) }
        }
    }

    /// Whether another access point of a network was seen lately that is neither blocked nor unverified.
    private func hasOther(than bssid: BSSID, of network: NetworkID) -> Bool {
        let history = history(of: network)
        // Observations from before the join count too, and the join may have taken long.
        return scanCache.accessPoints(of: network, since: now - settings.freshness - settings.joinLimit).contains {
            $0.bssid != bssid && !history.isBlocked($0.bssid, at: now) && !history.isUnverified($0.bssid)
        }
    }

    mutating func lose(_ link: Link, _ cause: PolicyDecision.Cause, _ end: LinkEnd) {
        record(.lost, from: link.network, fromBSSID: link.accessPoint.bssid, cause)
        beforeLoss = end == .ownDoing ? nil : (histories, now)
        left(link, isEnd: end != .ownDoing)
        if end != .ownDoing {
            histories[link.network, default: NetworkHistory()].goneSince = now
            wasLost(link)
        }
        actions.append(.watchSignal(nil))
        if successor != nil { return fallToSuccessor(because: cause) }
        cancelWideScan(but: .commanded)
        self.link = LinkMachine()
        let wasVisiting = visit != nil
        visit = nil
        search = Search(
            cause: cause,
            silence: end == .silence ? Search.Place(network: link.network, frequency: link.accessPoint.frequency) : nil)
        searchAnew()
        // A network that comes back at once does so on its known channel.
        if networks.allSatisfy({ !scanCache.places(of: $0.id).isEmpty }) {
            // A scan of all channels takes seconds, so it waits.
            search.reconnectEnd = now + settings.reconnectWindow
            scans[.full].due = search.reconnectEnd
        }
        proceed()
        // wpa_supplicant must not keep a visited network.
        if wasVisiting, case .offline = phase { actions.append(.leave) }
    }

    /// Delays the next join after a short link. Losing a link that was in use never blocks its network.
    private mutating func wasLost(_ link: Link) {
        guard now - link.since < settings.shortLink else { return }
        histories[link.network, default: NetworkHistory()].stumbled(
            .linkLost, after: .zero, at: now, settings: settings)
    }

    /// Notes the end of a link that was in use.
    /// - Parameter isEnd: whether the link had become unusable.
    mutating func left(_ link: Link, isEnd: Bool) {
        histories[link.network]?.moves.lasted(now - link.since, isEnd: isEnd)
        if now - link.since >= settings.shortLink { histories[link.network]?.held() }
        guard link.network == preferred, command == nil, isInterfaceUp, isCongested || link.cause == .preferred
        else { return }
        preferredReturn.failed(paidOffAfter: wait(payingOff: .zero), lasted: isCongested ? .zero : now - link.since)
    }

    /// Gives up a living link whose address did not come back.
    mutating func addressGone(_ link: Link) {
        let cause = PolicyDecision.Cause.failure(.noAddress)
        histories[link.network, default: NetworkHistory()].lostAddress()
        wasLost(link)
        guard successor == nil else { return lose(link, cause, .ownDoing) }
        record(.failed, from: link.network, fromBSSID: link.accessPoint.bssid, cause)
        left(link, isEnd: true)
        actions.append(.watchSignal(nil))
        self.link = LinkMachine()
        visit = nil
        searchAgain(because: cause)
        proceed()
        if case .offline = phase { actions.append(.leave) }
    }

    mutating func interfaceChanged(isUp: Bool) {
        interfaceUpAt = isUp ? nil : interfaceUpAt ?? now + settings.interfaceGrace
        // A link that was reported before its interface ends with it too.
        guard isUp != isInterfaceUp || !isUp && phase.network != nil else { return }
        isInterfaceUp = isUp
        scans.refused.endPause()
        if isUp {
            searchAnew()
            proceed()
        } else {
            scans.running = nil
            // The radio caused the loss, not the network: the one in use is joined first when the radio is back.
            if let beforeLoss, now - beforeLoss.at <= Self.radioLoss { histories = beforeLoss.histories }
            beforeLoss = nil
            interrupt(.interfaceDown)
        }
    }

    /// Longest time from a loss of the link to the loss of its radio, for the radio to be the cause.
    private static let radioLoss = Duration.seconds(5)

    mutating func supplicantChanged(isAvailable: Bool) {
        guard isAvailable != isSupplicantAvailable else { return }
        isSupplicantAvailable = isAvailable
        if isAvailable {
            searchAnew()
            if scan == nil, bestCandidate() == nil { search.forgetQuickScan() }
            proceed()
        } else if attempt != nil || command != nil && successor == nil {
            // Whether a finished link outlives its supplicant depends on the driver. The kernel reports it.
            interrupt(.supplicantUnavailable)
        }
    }

    /// Ends what was under way, because nothing can be joined now.
    private mutating func interrupt(_ failure: JoinFailure) {
        if let attempt {
            attemptFailed(attempt, failure, .inUse)
        } else if case .online(let link) = phase, failure == .interfaceDown {
            let hasSuccessor = successor != nil
            lose(link, .interfaceDown, .ownDoing)
            // The other interface goes on with the command.
            if hasSuccessor { return }
        }
        abandonCommand(failure)
    }
}
