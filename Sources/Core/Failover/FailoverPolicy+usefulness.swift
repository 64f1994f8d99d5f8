import AgentModel

// Whether a link leads to what the device needs.
extension FailoverPolicy {
    /// When a link is to be probed next, or has to have answered; nil where it is not probed.
    func proofMoment(of phase: Phase) -> Instant? { settings.validation == nil ? nil : phase.proof?.moment }

    /// Counts what was not answered, and asks what is due to be asked.
    mutating func continueProof(at now: Instant) {
        if let proof, let deadline = proof.deadline, deadline <= now {
            probed(epoch: linkEpoch, proof.isSigningIn ? .captive : .failed, at: now)
        }
        guard let validation = settings.validation, var proof, let next = proof.next, next <= now else { return }
        let limit = proof.isDoubted ? validation.doubtLimit : validation.limit
        proof.asked(at: now, until: now + limit)
        self.proof = proof
        actions.append(.probe(epoch: linkEpoch, within: limit))
    }

    /// Of the link that is there or being proven; nothing is asked of another.
    private var proof: Proof? {
        get { phase.proof }
        set {
            guard let newValue else { return }
            switch phase {
            case .proving(var attempt, let accessPoint):
                attempt.proof = newValue
                phase = .proving(attempt, accessPoint)
            case .online(var link):
                link.proof = newValue
                phase = .online(link)
            case .offline, .joining, .waitingForAddress: break
            }
        }
    }

    mutating func probed(epoch: UInt64, _ result: ProbeResult, at now: Instant) {
        guard let validation = settings.validation, epoch == linkEpoch, let proof else { return }
        guard proof.isUnderWay || result == .online && proof.isDoubted else {
            if result == .online { heard(validation, at: now) }
            return
        }
        switch phase {
        case .proving(let attempt, let accessPoint): proven(attempt, accessPoint, result, validation, at: now)
        case .online(let link): found(link, result, validation, at: now)
        case .offline, .joining, .waitingForAddress: break
        }
    }

    /// A good word that nobody asked for: on a link that is held to be useless it is worth a probe.
    private mutating func heard(_ validation: PolicySettings.Validation, at now: Instant) {
        guard case .online(var link) = phase, link.uselessness != nil else { return }
        link.proof.hurry(at: now, validation)
        phase = .online(link)
    }

    /// What was reached over the link does not answer any more: it counts as the first failure, and the probes begin.
    mutating func doubted(epoch: UInt64, at now: Instant) {
        // A commanded switch is probed as it is, and what is known to be useless cannot be doubted.
        guard let validation = settings.validation, epoch == linkEpoch, case .online(var link) = phase,
            link.uselessness == nil
        else { return }
        link.proof.doubted(at: now, validation)
        phase = .online(link)
    }

    /// A login page is no verdict while somebody is signing in, for as long as that may take.
    mutating func signingIn(epoch: UInt64, until end: Instant, at now: Instant) {
        guard let validation = settings.validation, epoch == linkEpoch, var proof else { return }
        if case .proving(let attempt, _) = phase, attempt.isValidated { return }
        guard let end = proof.signingIn(until: end, at: now, validation) else {
            // Their time is over, and the login page is still there.
            return probed(epoch: epoch, .captive, at: now)
        }
        self.proof = proof
        guard case .proving(var attempt, let accessPoint) = phase else { return }
        // Whoever has signed in is believed after one more probe.
        let deadline = max(attempt.deadline, end + validation.limit)
        attempt.deadline = command?.grant(validation.signInLimit, until: deadline) ?? deadline
        phase = .proving(attempt, accessPoint)
    }

    /// Nobody was asked: that is no strike and no praise. A commanded switch waits for it once.
    mutating func postponed(epoch: UInt64, until moment: Instant, at now: Instant) {
        guard let validation = settings.validation, epoch == linkEpoch, var proof, proof.isUnderWay else { return }
        let next = min(max(moment, now + validation.retry), now + max(validation.interval, validation.retry))
        proof.askAgain(at: next)
        self.proof = proof
        guard case .proving(var attempt, let accessPoint) = phase, !attempt.wasPostponed else { return }
        attempt.wasPostponed = true
        let deadline = max(attempt.deadline, next + validation.limit)
        attempt.deadline = command?.grant(validation.signInLimit, until: deadline) ?? deadline
        phase = .proving(attempt, accessPoint)
    }

    // MARK: Before a link is in use

    /// Address and route are there. A commanded switch has to be proven, and so has what a living link is left for.
    mutating func prove(_ attempt: Attempt, _ accessPoint: AccessPoint, at now: Instant) {
        var attempt = attempt
        if let validation = settings.validation, !attempt.isValidated {
            let end = now + validation.limit * (validation.strikes + 1)
            let confirmation = command?.confirmWithin ?? .zero
            attempt.deadline = command?.hasToBeProven(by: end + confirmation) ?? end
            attempt.deadline = min(attempt.deadline, end)
            attempt.proof.askAgain(at: now)
            phase = .proving(attempt, accessPoint)
            if let command { actions.append(.switchProgress(id: command.id, .validating)) }
        } else {
            attempt.isValidated = true
            askForConfirmation(attempt, accessPoint, at: now)
        }
    }

    private mutating func proven(
        _ attempt: Attempt, _ accessPoint: AccessPoint, _ result: ProbeResult, _ validation: PolicySettings.Validation,
        at now: Instant
    ) {
        var attempt = attempt
        switch result {
        case .online:
            attempt.isValidated = true
            attempt.proof.ended(well: true, next: nil)
            standings[attempt.network]?.wasUseful(at: now)
            askForConfirmation(attempt, accessPoint, at: now)
        case .captive:
            // Somebody may sign in, over the link in use alone, where there is time for it: else nothing is left.
            if let predecessor, attempt.purpose == .commanded, attempt.deadline > now {
                succeed(predecessor, by: attempt, accessPoint, at: now)
                attempt.proof.askAgain(at: now)
                phase = .proving(attempt, accessPoint)
            } else {
                attemptFailed(attempt, .captive, at: now)
            }
        case .failed:
            attempt.proof.ended(well: false, next: attempt.proof.retry(at: now, validation))
            phase = .proving(attempt, accessPoint)
            if attempt.proof.failures >= validation.strikes { attemptFailed(attempt, .noInternet, at: now) }
        }
    }

    private mutating func askForConfirmation(_ attempt: Attempt, _ accessPoint: AccessPoint, at now: Instant) {
        guard let command, let confirmWithin = command.confirmWithin, !attempt.isConfirmed else {
            return goOnline(attempt, accessPoint, at: now)
        }
        var attempt = attempt
        attempt.deadline = self.command?.hasToBeProven(by: now + confirmWithin) ?? now + confirmWithin
        phase = .proving(attempt, accessPoint)
        actions.append(.switchProgress(id: command.id, .waitingForConfirmation))
    }

    mutating func confirmed(_ id: UInt64, at now: Instant) {
        guard command?.id == id else { return }
        guard successor == nil else { return onSuccessor { $0.confirmed(id, at: now) } }
        switch phase {
        case .proving(var attempt, let accessPoint):
            attempt.isConfirmed = true
            if attempt.isValidated {
                goOnline(attempt, accessPoint, at: now)
            } else {
                phase = .proving(attempt, accessPoint)
            }
        case .waitingForAddress(var attempt, let accessPoint) where attempt.purpose == .commanded:
            // It came over the new network, whose address is away for the moment.
            attempt.isConfirmed = true
            phase = .waitingForAddress(attempt, accessPoint)
            actions.append(.switchProgress(id: id, .waitingForAddress))
        case .offline, .joining, .waitingForAddress, .online: break
        }
    }

    // MARK: A link in use

    private mutating func found(
        _ link: Link, _ result: ProbeResult, _ validation: PolicySettings.Validation, at now: Instant
    ) {
        var link = link
        var standing = standings[link.network, default: Standing()]
        switch result {
        case .online:
            link.proof.ended(well: true, next: nil)
            // Where something is amiss, the next probe says more than the last.
            let isCalm = link.proof.failures == 0
            link.proof.askAgain(at: isCalm ? now + validation.interval : link.proof.retry(at: now, validation))
            if link.uselessness == nil {
                standing.wasUseful(at: now)
            } else if link.proof.successes >= validation.strikes {
                standing.wasUseful(at: now)
                link.uselessness = nil
                weakness.isReported = false
                weakness.scans = 0
                record(.usable, to: link.network, toBSSID: link.accessPoint.bssid, link.cause, at: now)
            }
        case .captive, .failed:
            let failure: JoinFailure = result == .captive ? .captive : .noInternet
            link.proof.ended(well: false, next: link.proof.retry(at: now, validation))
            // A login page is no accident, and a network that led nowhere not long ago has used its chance.
            let isProven =
                result == .captive || standing.wasUselessLately(at: now, settings: settings)
                || link.proof.failures >= validation.strikes
            if isProven {
                link.proof.doubtIsProven()
                link.proof.askAgain(at: now + validation.interval)
            }
            if isProven, link.uselessness != failure {
                link.uselessness = failure
                standing.wasUseless(failure, at: now, settings: settings)
                record(
                    .unusable, from: link.network, fromBSSID: link.accessPoint.bssid, .failure(failure), at: now)
                weakness.nextScan = now
            }
        }
        standings[link.network] = standing
        phase = .online(link)
        proceed(at: now)
    }
}
