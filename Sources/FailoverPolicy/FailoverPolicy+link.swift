import AgentModel

// From the order to join until the link is gone again.
extension FailoverPolicy {
    mutating func join(_ network: NetworkID, purpose: Purpose, cause: PolicyDecision.Cause, at now: Instant) {
        let considered = considerations(choosing: network, at: now)
        record(.join, from: current, to: network, cause, considered: considered, at: now)
        epoch += 1
        triedAt[network] = now
        if case .online = phase { actions.append(.watchSignal(nil)) }
        weakness = Weakness()
        phase = .joining(
            Attempt(
                network: network, epoch: epoch, purpose: purpose, cause: cause, deadline: now + settings.joinLimit))
        actions.append(
            .join(LinkTarget(network: network, bssid: nil, frequencies: frequencies(of: network, at: now), epoch: epoch)))
        if case .commanded = purpose, let command { actions.append(.switchProgress(id: command.id, .joining)) }
    }

    /// Where to look for a network: exactly where it was just seen, or wherever it ever was.
    private func frequencies(of network: NetworkID, at now: Instant) -> [Frequency] {
        sight(of: network, at: now).map { [$0.frequency] } ?? air.places(of: network)
    }

    mutating func associated(epoch: UInt64, _ accessPoint: AccessPoint, at now: Instant) {
        guard case .joining(var attempt) = phase, attempt.epoch == epoch else { return }
        attempt.deadline = now + settings.addressLimit
        if let frequency = accessPoint.frequency { air.note(frequency, of: attempt.network) }
        phase = .waitingForAddress(attempt, accessPoint)
        if case .commanded = attempt.purpose, let command {
            actions.append(.switchProgress(id: command.id, .waitingForAddress))
        }
    }

    mutating func addressChanged(isReady: Bool, at now: Instant) {
        switch phase {
        case .waitingForAddress(let attempt, let accessPoint) where isReady:
            online(attempt.network, accessPoint, cause: attempt.cause, at: now)
            finishCommand(after: attempt, at: now)
        case .online(var link):
            link.addressDeadline = isReady ? nil : link.addressDeadline ?? now + settings.addressLimit
            phase = .online(link)
        case .offline, .joining, .waitingForAddress: break
        }
    }

    /// The device was connected before the policy was there to decide it.
    mutating func adopt(_ network: NetworkID, _ accessPoint: AccessPoint, at now: Instant) {
        guard case .offline = phase, self.network(network) != nil else { return }
        if let frequency = accessPoint.frequency { air.note(frequency, of: network) }
        epoch += 1
        let attempt = Attempt(
            network: network, epoch: epoch, purpose: .automatic, cause: .linkFound,
            deadline: now + settings.addressLimit)
        phase = .waitingForAddress(attempt, accessPoint)
    }

    private mutating func online(
        _ network: NetworkID, _ accessPoint: AccessPoint, cause: PolicyDecision.Cause, at now: Instant
    ) {
        blocks[network] = nil
        goneSince[network] = nil
        search = Search()
        weakness = Weakness()
        survey = Survey(next: now + settings.surveyDelay)
        phase = .online(Link(network: network, accessPoint: accessPoint, since: now))
        record(.online, to: network, cause, at: now)
        watchSignal(of: accessPoint, closely: false)
    }

    mutating func attemptFailed(_ attempt: Attempt, _ failure: JoinFailure, at now: Instant) {
        let signal = air.best(of: attempt.network, since: now - settings.joinLimit)?.signal
        record(.failed, from: attempt.network, .failure(failure), signal: signal, at: now)
        strike(attempt.network, failure, signal: signal, at: now)
        phase = .offline
        search.lookAgain(at: now, because: .failure(failure))
        if !failure.isOfTheNetwork { search.pause(until: now + settings.look.first) }
        switch attempt.purpose {
        case .commanded: commandedJoinFailed(failure, at: now)
        case .rollback(let reason): endCommand(.failed(reason))
        case .automatic: break
        }
        proceed(at: now)
        if case .offline = phase { actions.append(.leave) }
    }

    private mutating func strike(_ network: NetworkID, _ failure: JoinFailure, signal: Int?, at now: Instant) {
        switch failure {
        case .notFound, .timeout, .linkLost: goneSince[network] = now
        case .wrongKey, .accessPointFull, .rejected, .noAddress, .captive, .noInternet, .unconfirmed, .interrupted: break
        case .supplicantUnavailable, .interfaceDown: return
        }
        var block = blocks[network] ?? Block(failure)
        if block.strike(failure, signal: signal, at: now, settings: settings) {
            search.holdLastResort(until: now + settings.lastResort.wait(after: search.lastResorts))
            blocks[network] = block
            record(.blocked, from: network, .failure(failure), signal: signal, at: now)
        }
        blocks[network] = block
    }

    mutating func linkLost(isOwnDoing: Bool, at now: Instant) {
        switch phase {
        case .online(let link): lose(link, .linkLost, isOwnDoing: isOwnDoing, at: now)
        case .waitingForAddress(let attempt, _): attemptFailed(attempt, .linkLost, at: now)
        // While a join is under way the end of the link that was before is expected, and a new one is not there yet.
        case .offline, .joining: break
        }
    }

    private mutating func lose(
        _ link: Link, _ cause: PolicyDecision.Cause, isOwnDoing: Bool, at now: Instant
    ) {
        record(.lost, from: link.network, cause, signal: weakness.judge.latest, at: now)
        if !isOwnDoing { goneSince[link.network] = now }
        actions.append(.watchSignal(nil))
        // A scan of all channels takes seconds; what is needed now takes a fraction of one.
        if let scan, scan.order.frequencies.isEmpty, scan.order.reason != .commanded { actions.append(.cancelScan) }
        phase = .offline
        search = Search(cause: cause)
        search.startOver(at: now, settings: settings)
        proceed(at: now)
    }

    /// The link lives, but its address went and did not come back.
    mutating func addressGone(_ link: Link, at now: Instant) {
        let attempt = Attempt(
            network: link.network, epoch: epoch, purpose: .automatic, cause: .failure(.noAddress), deadline: now)
        actions.append(.watchSignal(nil))
        attemptFailed(attempt, .noAddress, at: now)
    }

    mutating func interfaceChanged(isUp: Bool, at now: Instant) {
        interfaceUpAt = isUp ? nil : interfaceUpAt ?? now + settings.interfaceGrace
        guard isUp != isInterfaceUp else { return }
        isInterfaceUp = isUp
        if isUp {
            search.startOver(at: now, settings: settings)
            proceed(at: now)
        } else {
            scan = nil
            interrupt(.interfaceDown, at: now)
        }
    }

    mutating func supplicantChanged(isAvailable: Bool, at now: Instant) {
        guard isAvailable != isSupplicantAvailable else { return }
        isSupplicantAvailable = isAvailable
        if isAvailable {
            search.startOver(at: now, settings: settings)
            proceed(at: now)
        } else if attempt != nil || command != nil {
            // Whether a finished link outlives its supplicant depends on the driver: the kernel tells.
            interrupt(.supplicantUnavailable, at: now)
        }
    }

    /// Nothing can be joined for now, and what was under way is over.
    private mutating func interrupt(_ failure: JoinFailure, at now: Instant) {
        if let attempt {
            attemptFailed(attempt, failure, at: now)
        } else if case .online(let link) = phase, failure == .interfaceDown {
            lose(link, .interfaceDown, isOwnDoing: true, at: now)
        }
        abandonCommand(failure)
    }

    var current: NetworkID? {
        guard case .online(let link) = phase else { return nil }
        return link.network
    }

    mutating func record(
        _ kind: PolicyDecision.Kind, from: NetworkID? = nil, to: NetworkID? = nil, _ cause: PolicyDecision.Cause,
        signal: Int? = nil,
        considered: [PolicyDecision.Consideration] = [], at now: Instant
    ) {
        actions.append(
            .record(
                PolicyDecision(
                    at: now, kind: kind, from: ssid(from), to: ssid(to), fromBSSID: nil, toBSSID: nil, cause: cause,
                    signal: signal ?? weakness.judge.latest, considered: considered)))
    }
}
