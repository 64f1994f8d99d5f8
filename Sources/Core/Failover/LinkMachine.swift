import AgentModel

/// One link, from the order to join until it is gone: the link in use, or its successor beside it, which replaces it at
/// once or when needed (a standby, which is online beside it).
///
/// A state machine: inputs of the link go in, and outcomes for the policy come out. It knows neither other networks nor
/// the other link.
///
/// ```
/// offline -> joining -> waitingForAddress -> online
///                               |     ^        ^
///                               v     |        |
///                               validating -------+
/// ```
struct LinkMachine: Sendable, Hashable {
    typealias Attempt = FailoverPolicy.Attempt
    typealias Link = FailoverPolicy.Link

    private(set) var phase: FailoverPolicy.Phase

    init(_ phase: FailoverPolicy.Phase = .offline) { self.phase = phase }

    enum Input {
        /// The access point has let the device in.
        case associated(AccessPoint)
        case failed(JoinFailure)
        /// The link is gone.
        case lost(LinkEnd)
        case address(isReady: Bool)
        case probed(ProbeResult)
        case doubted
        case signingIn(until: Instant)
        case postponed(until: Instant)
        /// The app confirms the commanded switch.
        case confirmed
        /// A command names the network that is being joined already, or that stands by.
        case commanded
        /// The device leaves the link in use for this one, which stands by or is being made.
        case wanted(PolicyDecision.Cause)
        /// The device returns to this link's network after a failed switch.
        case rollback(JoinFailure)
        /// `phase.deadline` has come.
        case tookTooLong
        /// The probe under way may have taken too long.
        case probeDeadline
        /// A probe may be due.
        case probeMoment
        /// The machine slept, or the settings changed: time limits under way start again.
        case beginAnew
    }

    /// Consequences for the policy to carry out, in this order.
    enum Outcome {
        case order(PolicyAction)
        /// Progress of the command under way, if there is one.
        case progress(SwitchProgress)
        /// The handshake with an access point is done.
        case opened(NetworkID, AccessPoint)
        /// The link is the same, and its access point or channel another one.
        case moved(NetworkID, from: AccessPoint, to: AccessPoint)
        /// The attempt is over.
        case failed(Attempt, JoinFailure)
        /// The network has internet access.
        case useful(NetworkID, AccessPoint)
        /// The link can be used.
        case up(Attempt, AccessPoint)
        /// A user has to sign in over the link, so it is used alone before it is validated.
        case takesOver(Attempt, AccessPoint)
        /// A link in use is gone.
        case lost(Link, LinkEnd)
        /// A link in use has lost its address for good.
        case addressGone(Link)
        /// A probe of a link in use has ended.
        case found(Link, Finding)
        /// Everything about a link in use is judged again.
        case judgeAnew(Link)
    }

    /// The result of a probe, for a link in use.
    enum Finding {
        /// Nothing new.
        case open
        case useful
        /// It had no internet access before.
        case usefulAgain
        case useless(JoinFailure)
    }

    /// Facts that a link cannot know.
    struct Context {
        let settings: PolicySettings
        let now: Instant
        /// Whether it is made beside a link in use.
        let isBeside: Bool
        /// Whether its network could not be joined, or had no internet access, the last time.
        let isSuspect: Bool
        /// Whether its network lately had no internet access.
        let wasUselessLately: Bool
    }

    /// - Parameter command: the commanded switch under way, which has a limited time for all its attempts.
    mutating func handle(_ input: Input, _ context: Context, for command: inout Command?) -> [Outcome] {
        let settings = context.settings
        let now = context.now
        switch (input, phase) {
        case (.associated(let accessPoint), .joining(let attempt)):
            return associated(attempt, accessPoint, context)
        case (.associated(let accessPoint), _): return moved(to: accessPoint)
        case (.failed(let failure), .joining(let attempt)), (.failed(let failure), .waitingForAddress(let attempt, _)),
            (.failed(let failure), .validating(let attempt, _)):
            return [.failed(attempt, failure)]
        // During a join the end of the previous link is expected, and the new link is not there yet.
        case (.lost, .waitingForAddress(let attempt, _)), (.lost, .validating(let attempt, _)):
            return [.failed(attempt, .linkLost)]
        case (.lost(let end), .online(let link)):
            return [.lost(link, end)]

        case (.address(isReady: true), .waitingForAddress(let attempt, let accessPoint)):
            guard attempt.purpose.isValidatedFirst(isBeside: context.isBeside) else {
                return [.up(attempt, accessPoint)]
            }
            return validate(attempt, accessPoint, context, for: &command)
        case (.address(isReady: false), .validating(var attempt, let accessPoint)):
            // A new address requires a new validation.
            let end = now + settings.addressLimit
            attempt.deadline = command?.validationEnd.map { min($0, end) } ?? end
            attempt.isValidated = false
            attempt.validation = LinkValidation()
            phase = .waitingForAddress(attempt, accessPoint)
            return []
        case (.address(let isReady), .online(let link)):
            phase.link?.addressDeadline = isReady ? nil : link.addressDeadline ?? now + settings.addressLimit
            return []

        case (.confirmed, .validating(let attempt, let accessPoint)):
            phase.attempt?.isConfirmed = true
            return attempt.isValidated ? [.up(attempt, accessPoint)] : []
        case (.confirmed, .waitingForAddress(let attempt, _)) where attempt.purpose == .commanded:
            // The confirmation came over the new network, whose address is away for the moment.
            phase.attempt?.isConfirmed = true
            return [.progress(.waitingForAddress)]

        case (.commanded, _):
            return [.progress(.joining)] + serve(.commanded, context, for: &command)
        case (.wanted(let cause), _):
            return serve(.automatic, because: cause, context, for: &command)
        case (.rollback(let failure), .waitingForAddress):
            _ = serve(.rollback(failure), context, for: &command)
            return []

        case (.tookTooLong, _): return tookTooLong()
        case (.beginAnew, _): return beginAnew(context)
        case (.probed(let result), _): return probed(result, context, for: &command)
        case (.probeDeadline, _):
            guard let validation = phase.validation, let deadline = validation.deadline, deadline <= now else {
                return []
            }
            return probed(validation.isSigningIn ? .captive : .failed, context, for: &command)
        case (.probeMoment, _): return probe(context)
        case (.doubted, .online(var link)):
            // A link that is known to have no internet access cannot be doubted.
            guard let rules = settings.validation, link.uselessness == nil, link.validation.doubted(at: now, rules)
            else { return [] }
            phase = .online(link)
            return [.found(link, .open)]
        case (.signingIn(let end), _): return signingIn(until: end, context, for: &command)
        case (.postponed(let moment), _):
            postpone(until: moment, context, for: &command)
            return []
        case (.failed, _), (.lost, _), (.address, _), (.confirmed, _), (.rollback, _), (.doubted, _):
            return []
        }
    }

    private mutating func associated(_ attempt: Attempt, _ accessPoint: AccessPoint, _ context: Context) -> [Outcome] {
        let settings = context.settings
        var attempt = attempt
        let limit =
            attempt.leavesALivingLink && !context.isBeside
            ? min(settings.addressLimitAfterLeaving, settings.addressLimit, attempt.addressLimit ?? .seconds(3600))
            : settings.addressLimit
        attempt.awaitAddress(upTo: limit, context)
        phase = .waitingForAddress(attempt, accessPoint)
        return [.opened(attempt.network, accessPoint)]
            + (attempt.purpose == .commanded ? [.progress(.waitingForAddress)] : [])
    }

    /// The device is at another access point, or its access point on another channel.
    private mutating func moved(to accessPoint: AccessPoint) -> [Outcome] {
        guard let before = phase.accessPoint, let network = phase.network else { return [] }
        var after = accessPoint
        if after.bssid == before.bssid, after.frequency == nil { after = before }
        guard after != before else { return [] }
        phase.accessPoint = after
        return [.moved(network, from: before, to: after)]
    }

    /// Gives the attempt under way, or the standby link, a new purpose.
    private mutating func serve(
        _ purpose: FailoverPolicy.Purpose, because cause: PolicyDecision.Cause? = nil, _ context: Context,
        for command: inout Command?
    ) -> [Outcome] {
        phase.attempt?.purpose = purpose
        if let cause { phase.attempt?.cause = cause }
        switch phase {
        case .waitingForAddress: return [.progress(.waitingForAddress)]
        case .validating: return [.progress(.validating)]
        case .online(let link) where context.isBeside:
            let attempt = Attempt(
                network: link.network, bssid: link.accessPoint.bssid, epoch: link.epoch, purpose: purpose,
                cause: cause ?? .commanded, began: context.now,
                deadline: link.addressDeadline ?? context.now + context.settings.addressLimit,
                leavesALivingLink: purpose == .automatic)
            phase = .waitingForAddress(attempt, link.accessPoint)
            // The probe from when it joined does not count any more.
            return [.progress(.waitingForAddress)]
                + (link.addressDeadline == nil ? validate(attempt, link.accessPoint, context, for: &command) : [])
        case .offline, .joining, .online: return []
        }
    }

    private func tookTooLong() -> [Outcome] {
        switch phase {
        case .joining(let attempt): [.failed(attempt, .timeout)]
        case .waitingForAddress(let attempt, _): [.failed(attempt, .noAddress)]
        case .validating(let attempt, _): [.failed(attempt, attempt.isValidated ? .unconfirmed : .noInternet)]
        case .online(let link): [.addressGone(link)]
        case .offline: []
        }
    }

    private mutating func beginAnew(_ context: Context) -> [Outcome] {
        let (settings, now) = (context.settings, context.now)
        switch phase {
        case .offline, .validating: break
        case .joining: phase.attempt?.deadline = now + settings.joinLimit
        case .waitingForAddress: phase.attempt?.awaitAddress(upTo: settings.addressLimit, context)
        case .online(var link):
            if settings.validation != nil { link.validation.askAgain(at: now) }
            if link.addressDeadline != nil { link.addressDeadline = now + settings.addressLimit }
            phase = .online(link)
            return [.judgeAnew(link)]
        }
        return []
    }

    // MARK: Probes

    /// Sends a probe that is due.
    private mutating func probe(_ context: Context) -> [Outcome] {
        guard let rules = context.settings.validation, var validation = phase.validation, let epoch = phase.epoch,
            let next = validation.next, next <= context.now
        else { return [] }
        let isBrief = validation.isDoubted || phase.isOnTrial(at: context.now)
        let limit = isBrief ? rules.doubtLimit : rules.limit
        validation.asked(at: context.now, until: context.now + limit)
        phase.validation = validation
        return [.order(.probe(epoch: epoch, within: limit))]
    }

    private mutating func probed(_ result: ProbeResult, _ context: Context, for command: inout Command?) -> [Outcome] {
        guard let rules = context.settings.validation, let validation = phase.validation else { return [] }
        guard validation.isUnderWay || result == .online && validation.isDoubted else {
            // Unsolicited success. If the link is marked as having no internet, probe it again.
            if result == .online, phase.link?.uselessness != nil { phase.validation?.hurry(at: context.now, rules) }
            return []
        }
        switch phase {
        case .validating(let attempt, let accessPoint):
            return validated(attempt, accessPoint, result, rules, context, for: &command)
        case .online(let link): return found(link, result, rules, context)
        case .offline, .joining, .waitingForAddress: return []
        }
    }

    /// Waits for a user who is signing in, until `end` or the sign-in limit: meanwhile a login page does not count.
    private mutating func signingIn(until end: Instant, _ context: Context, for command: inout Command?) -> [Outcome] {
        guard let rules = context.settings.validation, var validation = phase.validation else { return [] }
        if case .validating(let attempt, _) = phase, attempt.isValidated { return [] }
        guard let end = validation.signingIn(until: end, at: context.now, rules) else {
            // The sign-in time is over, and the login page is still there.
            return probed(.captive, context, for: &command)
        }
        phase.validation = validation
        // One more probe follows the sign-in.
        allow(until: end + rules.limit, rules, for: &command)
        return []
    }

    /// Postpones a probe that was not made, which counts neither for nor against the link. A validation waits for it
    /// once.
    private mutating func postpone(until moment: Instant, _ context: Context, for command: inout Command?) {
        guard let rules = context.settings.validation, var validation = phase.validation, validation.isUnderWay else {
            return
        }
        let now = context.now
        let next = min(max(moment, now + rules.retry), now + max(rules.interval, rules.retry))
        validation.askAgain(at: next)
        phase.validation = validation
        guard case .validating(let attempt, _) = phase, !attempt.wasPostponed else { return }
        phase.attempt?.wasPostponed = true
        allow(until: next + rules.limit, rules, for: &command)
    }

    /// Extends the validation to `end`, as far as the command has time.
    private mutating func allow(until end: Instant, _ rules: PolicySettings.Validation, for command: inout Command?) {
        guard case .validating(let attempt, _) = phase else { return }
        let deadline = max(attempt.deadline, end)
        phase.attempt?.deadline = command?.grant(rules.signInLimit, until: deadline) ?? deadline
    }

    // MARK: Before a link is in use

    /// Validates a link with an address and a route, for a commanded switch or a move away from a living link.
    private mutating func validate(
        _ attempt: Attempt, _ accessPoint: AccessPoint, _ context: Context, for command: inout Command?
    ) -> [Outcome] {
        var attempt = attempt
        guard let rules = context.settings.validation, !attempt.isValidated else {
            attempt.isValidated = true
            return askForConfirmation(attempt, accessPoint, context, for: &command)
        }
        let end = context.now + rules.limit * (rules.strikes + 1)
        let confirmation = command?.confirmWithin ?? .zero
        attempt.deadline = command?.limitValidation(to: end + confirmation) ?? end
        attempt.deadline = min(attempt.deadline, end)
        attempt.validation.askAgain(at: context.now)
        phase = .validating(attempt, accessPoint)
        return [.progress(.validating)]
    }

    private mutating func validated(
        _ attempt: Attempt, _ accessPoint: AccessPoint, _ result: ProbeResult,
        _ rules: PolicySettings.Validation, _ context: Context, for command: inout Command?
    ) -> [Outcome] {
        var attempt = attempt
        let now = context.now
        // Without a network to go back to, one without internet access is better than none.
        let isKept = attempt.purpose == .commanded && command.map { $0.cameFrom == nil } ?? false
        switch result {
        case .online:
            return [.useful(attempt.network, accessPoint)]
                + endValidation(of: attempt, accessPoint, well: true, context, for: &command)
        case .captive where isKept:
            return endValidation(of: attempt, accessPoint, well: false, context, for: &command)
        case .captive:
            // A user may sign in if there is time, but only over the link in use. Otherwise the device stays on the
            // link in use.
            guard context.isBeside, attempt.purpose == .commanded, attempt.deadline > now else {
                return [.failed(attempt, .captive)]
            }
            attempt.validation.askAgain(at: now)
            phase = .validating(attempt, accessPoint)
            return [.takesOver(attempt, accessPoint)]
        case .failed:
            attempt.validation.ended(well: false, next: attempt.validation.retry(at: now, rules))
            phase = .validating(attempt, accessPoint)
            guard attempt.validation.failures >= rules.strikes else { return [] }
            guard isKept else { return [.failed(attempt, .noInternet)] }
            return endValidation(of: attempt, accessPoint, well: false, context, for: &command)
        }
    }

    /// Asks no more questions before the link is in use.
    private mutating func endValidation(
        of attempt: Attempt, _ accessPoint: AccessPoint, well isWell: Bool, _ context: Context,
        for command: inout Command?
    ) -> [Outcome] {
        var attempt = attempt
        attempt.isValidated = true
        attempt.validation.ended(well: isWell, next: nil)
        return askForConfirmation(attempt, accessPoint, context, for: &command)
    }

    private mutating func askForConfirmation(
        _ attempt: Attempt, _ accessPoint: AccessPoint, _ context: Context, for command: inout Command?
    ) -> [Outcome] {
        guard let confirmWithin = command?.confirmWithin, !attempt.isConfirmed else {
            return [.up(attempt, accessPoint)]
        }
        var attempt = attempt
        let end = context.now + confirmWithin
        attempt.deadline = command?.limitValidation(to: end) ?? end
        phase = .validating(attempt, accessPoint)
        return [.progress(.waitingForConfirmation)]
    }

    // MARK: In use

    /// Number of failed probes that mean no internet. A network that lately had none has used its chance.
    func sufficientFailures(_ rules: PolicySettings.Validation, _ context: Context) -> Int {
        context.wasUselessLately || phase.isOnTrial(at: context.now) ? 1 : rules.strikes
    }

    private mutating func found(
        _ link: Link, _ result: ProbeResult, _ rules: PolicySettings.Validation, _ context: Context
    ) -> [Outcome] {
        var link = link
        let now = context.now
        var finding = Finding.open
        switch result {
        case .online:
            link.validation.ended(well: true, next: nil)
            // After a failure, the next probe says more than the last.
            let isCalm = link.validation.failures == 0
            link.validation.askAgain(at: isCalm ? now + rules.interval : link.validation.retry(at: now, rules))
            if link.uselessness == nil {
                finding = .useful
            } else if link.validation.successes >= rules.strikes {
                link.uselessness = nil
                finding = .usefulAgain
            }
        case .captive, .failed:
            let failure: JoinFailure = result == .captive ? .captive : .noInternet
            link.validation.ended(well: false, next: link.validation.retry(at: now, rules))
            // A login page is certain.
            let isConfirmed = result == .captive || link.validation.failures >= sufficientFailures(rules, context)
            if isConfirmed {
                link.validation.doubtIsSettled()
                link.validation.askAgain(at: now + rules.interval)
            }
            if isConfirmed, link.uselessness != failure {
                link.uselessness = failure
                finding = .useless(failure)
            }
        }
        phase = .online(link)
        return [.found(link, finding)]
    }
}
