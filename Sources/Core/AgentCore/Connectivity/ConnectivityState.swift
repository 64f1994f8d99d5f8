import AgentModel
import AppProtocol
import Failover

/// Tracks the connectivity of the current network and decides what to ask. A pure value: events and times go in,
/// effects come out in sequence. `ConnectivityMonitor` performs the effects. Findings belong to one link; late answers
/// are dropped.
package struct ConnectivityState: Sendable {
    package struct Settings: Sendable {
        package var required: ReachLevel
        package var hasSource: Bool
        package var hasProviders: Bool
        /// Default time limit of a check.
        package var checkLimit = Duration.seconds(3)
        /// Time for a recently connected target to answer before other questions are asked.
        package var headStart = Duration.milliseconds(500)
        /// Time for the hotspot providers to find out if one of them can sign in.
        package var evaluateLimit = Duration.seconds(6)

        package init(required: ReachLevel, hasSource: Bool, hasProviders: Bool) {
            (self.required, self.hasSource, self.hasProviders) = (required, hasSource, hasProviders)
        }
    }

    package var settings: Settings
    private var budget: QuestionBudget
    package private(set) var path = TrafficPath.none
    /// Whether the traffic over the path is metered.
    package private(set) var isMetered = false
    private var inUse: LinkReach
    /// Epoch and findings of the new link during make-before-break; nil without one.
    private var beside: (epoch: UInt64, reach: LinkReach)?
    private var checked: Timestamp?
    private var signIn = SignInProgress()
    private var isLoggingOff = false
    private var flags: ReachabilityFlags = []
    /// Time of the next check of an uplink other than Wi-Fi. The result does not affect decisions.
    private var nextOwnCheck: Instant?
    /// Targets and their connections over the current link.
    private var targets: [ReachTarget] = []
    /// Targets and their connections over the new link during make-before-break.
    private var targetsBeside: [ReachTarget] = []

    private var questions: [ReachQuestionID: Asked] = [:]
    private var lastQuestion: UInt64 = 0
    private var effects: [ConnectivityEffect] = []
    /// Events for the policy, returned after all other effects, because they may cause another event.
    private var policyEvents: [PolicyEvent] = []
    private var now: ClockReading

    private struct Asked {
        let side: LinkSide
        /// Question of a check; nil for a request to the captive portal API.
        let question: ConnectivityCheck.Question?
        let moment: Instant
    }

    package init(_ settings: Settings, budget: QuestionBudget.Limits = QuestionBudget.Limits(), at now: ClockReading) {
        self.settings = settings
        self.budget = QuestionBudget(budget)
        self.now = now
        inUse = LinkReach(at: now.instant)
    }

    /// - Returns: effects to perform strictly in sequence.
    package mutating func handle(_ event: ConnectivityEvent, at now: ClockReading) -> [ConnectivityEffect] {
        self.now = now
        dispatch(event)
        defer { (effects, policyEvents) = ([], []) }
        return effects + policyEvents.map { .sendToPolicy($0) }
    }

    private mutating func dispatch(_ event: ConnectivityEvent) {
        switch event {
        case .targets(let inUse, let beside): (targets, targetsBeside) = (inUse, beside)
        case .follow(let path, let isMetered): follow(path, isMetered: isMetered)
        case .probe(let epoch, let limit):
            guard path == .wifi(epoch: epoch) else { return }
            check(within: Self.shortened(limit), then: .probe(epoch: epoch))
        case .probeSuccessor(let epoch, let station, let limit): probeSuccessor(epoch, station, within: limit)
        case .leaveSuccessor: leaveSuccessor()
        case .targetChanged(let side, let name): targetChanged(name, side)
        case .targetDoubted(let name): targetDoubted(name)
        case .answer(let id, let answer): handleAnswer(id, answer)
        case .timer: doWhatIsDue()
        case .flags(let new):
            guard new != flags else { return }
            flags = new
            effects.append(.changed)
        case .signIn(let status): signInChanged(to: status)
        case .logOff: logOff()
        case .loggedOff:
            isLoggingOff = false
            effects.append(.networkLeft)
        case .timeIsOver: endCheck(checkOf: .inUse)
        case .retargeted(let required, let kept): retarget(required, keeping: kept)
        case .uplinksJudged: if case .other = path { checkByItself() }
        case .askPortalAnew: inUse.poll.doubt(at: now.instant)
        }
    }

    /// Returns a time limit a little below the policy's, so that a failure reaches the policy with its reason.
    static func shortened(_ limit: Duration) -> Duration { max(.milliseconds(100), limit - .milliseconds(200)) }

    // MARK: The path

    private mutating func follow(_ new: TrafficPath, isMetered: Bool) {
        let hasChanged = isMetered != self.isMetered
        self.isMetered = isMetered
        guard new != path else {
            // Connections get the keep-alive of a metered path when they open.
            if hasChanged { effects.append(.follow(path)) }
            return
        }
        path = new
        cancel(.inUse)
        inUse = LinkReach(at: now.instant)
        (checked, nextOwnCheck) = (nil, nil)
        signIn.networkLeft()
        // During a log-off, this effect follows when the log-off ends.
        if !isLoggingOff { effects.append(.networkLeft) }
        effects += [.forgetNames, .follow(new)]
        switch new {
        case .none: break
        // Without a required server, no check follows, and the link counts as online.
        case .wifi: if settings.required == .link, settings.hasProviders { effects.append(.onlineFound) }
        // The policy probes only Wi-Fi links.
        case .other: checkByItself()
        }
        effects.append(.changed)
    }

    /// Interval of the checks of an uplink other than Wi-Fi that carries the traffic.
    private static let ownInterval = Duration.seconds(60)

    private mutating func checkByItself() {
        nextOwnCheck = now.instant + Self.ownInterval * (isMetered ? Metering.factor : 1)
        check(within: settings.checkLimit, then: .nothing)
    }

    // MARK: Time

    /// Time of the next `timer` event; nil if none is needed.
    package var nextWake: Instant? {
        var moments = [beside?.reach.check?.next, beside?.reach.poll.next]
        if path != .none { moments += [inUse.check?.next, inUse.poll.next, nextOwnCheck] }
        return moments.compactMap(\.self).min()
    }

    private mutating func doWhatIsDue() {
        for side in [LinkSide.inUse, .beside] {
            if let check = reach(side)?.check, check.next <= now.instant {
                let portal = reach(side)?.poll.state(at: now.instant)
                step(side) { [now] in $0.passed(to: now.instant, portal: portal) }
                if check.awaitsPortal, reach(side)?.check?.awaitsPortal != true {
                    change(side) { $0.isPortalKnown = true }
                }
            }
            askPortalIfDue(side)
        }
        if let nextOwnCheck, nextOwnCheck <= now.instant { checkByItself() }
    }

    // MARK: Checks

    private func reach(_ side: LinkSide) -> LinkReach? { side == .inUse ? inUse : beside?.reach }

    private mutating func change(_ side: LinkSide, _ change: (inout LinkReach) -> Void) {
        switch side {
        case .inUse: change(&inUse)
        case .beside:
            guard var link = beside else { return }
            change(&link.reach)
            beside = link
        }
    }

    private func targets(_ side: LinkSide) -> [ReachTarget] { side == .inUse ? targets : targetsBeside }

    /// Starts a check, which replaces a running one. Conclusions that wait for the running check get the new result.
    private mutating func check(within limit: Duration, then conclusion: LinkReach.Conclusion) {
        guard path != .none else { return }
        let first = targets.filter(isEnough)
        var known = ReachFindings(source: inUse.findings?.source, portal: portal)
        known.open = first.reduce([]) { $0.union(open(besides: $1)) }
        if !inUse.waiting.contains(conclusion) { inUse.waiting.append(conclusion) }
        beginCheck(.inUse, knowing: known, first: first.map(\.name), within: limit)
    }

    private mutating func beginCheck(
        _ side: LinkSide, knowing known: ReachFindings, first: [String], within limit: Duration
    ) {
        cancelCheck(side)
        var check = ConnectivityCheck(
            of: targets(side).map(\.name), hasSource: settings.hasSource, for: settings.required, knowing: known,
            from: now.instant, within: limit)
        let asked = check.begin(asking: first, headStart: settings.headStart, at: now.instant)
        change(side) { $0.check = check }
        sendQuestions(asked, side)
    }

    private mutating func step(_ side: LinkSide, _ step: (inout ConnectivityCheck) -> ConnectivityCheck.Effect) {
        guard var check = reach(side)?.check else { return }
        let effect = step(&check)
        change(side) { $0.check = check }
        switch effect {
        case .ask(let questions): sendQuestions(questions, side)
        case .over: conclude(side, check.findings)
        }
    }

    private mutating func sendQuestions(_ asked: [ConnectivityCheck.Question], _ side: LinkSide) {
        // Known answers are handled after all questions are sent.
        var answers: [(ConnectivityCheck.Question, ConnectivityCheck.Answer)] = []
        for question in asked {
            guard let rest = reach(side)?.check?.rest(at: now.instant) else { return }
            switch question {
            case .target(let name): put(.target(name), question, side, within: rest)
            case .source:
                if budget.spend(for: .probe, at: now.instant) {
                    put(.source, question, side, within: rest)
                } else {
                    answers.append((question, .source(nil)))
                }
            case .gateway: put(.gateway, question, side, within: min(rest, .milliseconds(1800)))
            case .portal:
                askPortalIfDue(side)
                if let link = reach(side), !link.awaitsPortal {
                    answers.append((question, .portal(link.poll.state(at: now.instant))))
                    change(side) { $0.isPortalKnown = true }
                }
            }
        }
        for (question, answer) in answers { step(side) { [now] in $0.heard(question, answer, at: now.instant) } }
    }

    private mutating func endCheck(checkOf side: LinkSide) {
        step(side) {
            $0.timeIsOver()
            return .over
        }
    }

    private mutating func put(
        _ order: ReachQuestion, _ question: ConnectivityCheck.Question?, _ side: LinkSide, within limit: Duration
    ) {
        lastQuestion += 1
        let id = ReachQuestionID(rawValue: lastQuestion)
        questions[id] = Asked(side: side, question: question, moment: now.instant)
        effects.append(.ask(id, order, side, within: limit))
    }

    private mutating func cancelCheck(_ side: LinkSide) {
        change(side) { $0.check = nil }
        cancel { $0.side == side && $0.question != nil }
    }

    private mutating func cancel(_ side: LinkSide) { cancel { $0.side == side } }

    private mutating func cancel(where isOver: (Asked) -> Bool) {
        let ids = questions.filter { isOver($0.value) }.map(\.key).sorted { $0.rawValue < $1.rawValue }
        guard !ids.isEmpty else { return }
        for id in ids { questions[id] = nil }
        effects.append(.cancel(ids))
    }

    private mutating func conclude(_ side: LinkSide, _ found: ReachFindings) {
        cancelCheck(side)
        guard side == .inUse else {
            if let epoch = beside?.epoch { report(ReachVerdict(found, required: settings.required), epoch) }
            return
        }
        var findings = found
        // Earlier answers of other targets still count.
        findings.targets.merge(inUse.findings?.targets ?? [:]) { new, _ in new }
        // The portal state may have arrived during the check.
        findings.portal = portal
        record(findings)
        var waiting = inUse.waiting
        inUse.waiting = []
        // The policy gets one result of one check.
        if case .wifi(let epoch) = path, waiting.contains(.probe(epoch: epoch)) {
            waiting.removeAll { $0 == .retargeted(epoch: epoch) }
        }
        guard let verdict else { return }
        for conclusion in waiting { conclude(conclusion, verdict) }
    }

    private mutating func conclude(_ conclusion: LinkReach.Conclusion, _ verdict: ReachVerdict) {
        switch conclusion {
        case .nothing: break
        case .probe(let epoch): answer(verdict, epoch)
        case .target(let epoch): if verdict.result == .online { sendToPolicy(.probed(epoch: epoch, .online)) }
        case .retargeted(let epoch):
            switch verdict.result {
            case .online: sendToPolicy(.probed(epoch: epoch, .online))
            case .failed, .captive: sendToPolicy(.doubted(epoch: epoch))
            case nil: break
            }
        case .signedIn(let epoch): signedIn(verdict, epoch)
        }
    }

    private mutating func sendToPolicy(_ event: PolicyEvent) { policyEvents.append(event) }

    private mutating func report(_ verdict: ReachVerdict, _ epoch: UInt64) {
        sendToPolicy(
            verdict.result.map { .probed(epoch: epoch, $0) }
                ?? .postponed(epoch: epoch, until: budget.next(for: .probe, at: now.instant)))
    }

    // MARK: Answers

    private mutating func handleAnswer(_ id: ReachQuestionID, _ answer: ReachAnswer) {
        // Late answers count for the budget too.
        switch answer {
        case .source(_, let cost): budget.spent(bytes: cost, for: .probe)
        case .portal(_, let cost): budget.spent(bytes: cost, for: .portalAPI)
        default: break
        }
        guard let asked = questions.removeValue(forKey: id) else { return }
        guard let question = asked.question else { return portalAnswered(answer, asked.side) }
        let heard: ConnectivityCheck.Answer
        switch answer {
        case .target(let problem):
            guard case .target(let name) = question, let target = targets(asked.side).first(where: { $0.name == name })
            else { return }
            heard = .target(judged(problem.map { .problem($0) } ?? .answers(target.proof), asked.side))
        case .source(let finding, _):
            heard = .source(finding)
            change(asked.side) { $0.sourceAsked = asked.moment }
        case .gateway(let answers): heard = .gateway(answers)
        case .portalAddress, .portal: return
        }
        step(asked.side) { [now] in $0.heard(question, heard, at: now.instant) }
    }

    // MARK: Questions that can be skipped

    /// Whether an answer of this target alone gives the result `online`.
    private func isEnough(_ target: ReachTarget) -> Bool {
        guard target.status.isOnline else { return false }
        var findings = ReachFindings(source: inUse.findings?.source, portal: portal)
        findings.targets[target.name] = .answers(target.proof)
        findings.open = open(besides: target)
        return ReachVerdict(findings, required: settings.required).result == .online
    }

    /// Returns the questions that are still open when this target answers. A connection to a public server keeps an
    /// earlier validation result valid: a network that becomes captive would end the connection.
    private func open(besides target: ReachTarget) -> ReachFindings.Open {
        let status = target.status
        let isFresh =
            status.isFar && inUse.findings?.source == .online && inUse.sourceAsked.map { $0 >= status.since } ?? false
        var open: ReachFindings.Open = inUse.isPortalKnown ? [] : .portal
        if settings.hasSource, !isFresh { open.insert(.source) }
        return open
    }

    // MARK: Other targets

    /// Drops findings of removed targets, and checks the current targets. Without success, the policy probes the link
    /// at once: its next routine probe may be many minutes away.
    private mutating func retarget(_ required: ReachLevel, keeping kept: Set<String>) {
        settings.required = required
        for name in inUse.findings?.targets.keys.filter({ !kept.contains($0) }) ?? [] {
            inUse.findings?.targets[name] = nil
        }
        effects.append(.changed)
        if beside?.reach.check != nil, let next = beside?.reach.check?.next {
            beginCheck(.beside, knowing: ReachFindings(), first: [], within: max(.zero, next - now.instant))
        }
        guard required > .link else { return }
        if case .wifi(let epoch) = path {
            check(within: settings.checkLimit, then: .retargeted(epoch: epoch))
        } else {
            check(within: settings.checkLimit, then: .nothing)
        }
    }

    // MARK: Unsolicited reports

    private mutating func targetChanged(_ name: String, _ side: LinkSide) {
        guard let target = targets(side).first(where: { $0.name == name }) else { return }
        guard side == .inUse else {
            let answer = answer(of: target, .beside)
            return step(.beside) { [now] in $0.changed(name, answer, at: now.instant) }
        }
        effects.append(.publish(.targetChanged(target.report(at: now))))
        let answer = answer(of: target, .inUse)
        step(.inUse) { [now] in $0.changed(name, answer, at: now.instant) }
        recordChange(of: target)
        effects.append(.changed)
    }

    /// Time for a network to set the clock. A network that reaches a time server does it within a minute or two. A
    /// network that redirects every connection to its own server does not.
    static let clockLimit = Duration.seconds(600)

    private func answer(of target: ReachTarget, _ side: LinkSide) -> ReachFindings.Answer? {
        target.answer.map { judged($0, side) }
    }

    /// A clock that is not set excuses a network for ``clockLimit``.
    private func judged(_ answer: ReachFindings.Answer, _ side: LinkSide) -> ReachFindings.Answer {
        guard answer == .problem(.clockNotSet), let link = reach(side), now.instant - link.begin >= Self.clockLimit
        else {
            return answer
        }
        return .problem(.tlsFailed)
    }

    private mutating func recordChange(of target: ReachTarget) {
        let isReady = target.status.isOnline
        // Before the first check, a failed target alone does not make the network worse.
        guard path != .none, isReady || inUse.findings != nil else { return }
        var new = inUse.findings ?? ReachFindings(portal: portal)
        new.targets[target.name] = answer(of: target, .inUse)
        record(new)
        // A running check reports the result.
        guard isReady, inUse.check == nil, case .wifi(let epoch) = path else { return }
        if isEnough(target) {
            sendToPolicy(.probed(epoch: epoch, .online))
        } else if settings.required > .link {
            check(within: settings.checkLimit, then: .target(epoch: epoch))
        }
    }

    /// Handles a lost connection to a target. If another target still answers, the network is not suspected.
    private mutating func targetDoubted(_ name: String) {
        let required = settings.required
        guard required == .target || required == .internet, case .wifi(let epoch) = path else { return }
        let others = targets.filter { $0.name != name && $0.status.isOnline }
        guard !others.contains(where: { required == .target || $0.status.isFar }) else { return }
        sendToPolicy(.doubted(epoch: epoch))
    }

    // MARK: Make-before-break

    /// Probes the new link during make-before-break. Its findings are kept separately.
    private mutating func probeSuccessor(_ epoch: UInt64, _ station: StationID, within limit: Duration) {
        if beside?.epoch != epoch {
            leaveSuccessor()
            beside = (epoch, LinkReach(at: now.instant))
            // The new link opens its own connections to the targets.
            targetsBeside = targets.map(\.unconnected)
            effects.append(.followBeside(station))
        }
        beginCheck(.beside, knowing: ReachFindings(), first: [], within: Self.shortened(limit))
    }

    private mutating func leaveSuccessor() {
        guard beside != nil else { return }
        cancel(.beside)
        beside = nil
        effects.append(.followBeside(nil))
    }

    // MARK: Captive portal API

    private var portal: CaptiveState? { inUse.poll.state(at: now.instant) }

    private mutating func askPortalIfDue(_ side: LinkSide) {
        guard let link = reach(side), side == .beside || path != .none, let next = link.poll.next, next <= now.instant
        else { return }
        // Cancel an older request: its answer may be outdated.
        cancel { $0.side == side && $0.question == nil }
        // A routine request does not wait for the API's URL: the wait would wake the processor ten times.
        let patience: Duration = link.poll.isDoubted ? .seconds(1) : .zero
        change(side) { [now] in
            $0.portalQuestion = LinkReach.PortalQuestion(number: $0.poll.ask(), end: now.instant + Self.portalLimit)
        }
        put(.portalAddress, nil, side, within: patience)
    }

    /// Time limit for a request, including name resolution and connection.
    private static let portalLimit = Duration.seconds(3)

    private mutating func portalAnswered(_ answer: ReachAnswer, _ side: LinkSide) {
        guard let asked = reach(side)?.portalQuestion else { return }
        let word: CaptivePortalPoll.Answer
        switch answer {
        case .portalAddress(let url?):
            if budget.spend(for: .portalAPI, at: now.instant) {
                put(.portal(url: url), nil, side, within: max(.zero, asked.end - now.instant))
                return
            }
            word = .postponed(until: budget.next(for: .portalAPI, at: now.instant))
        case .portal(let state?, _): word = .said(state)
        case .portal(nil, _): word = .failed
        default: word = .nowhere
        }
        let before = reach(side)?.poll.state(at: now.instant)
        var wantsExtension = false
        change(side) { [now] in
            $0.portalQuestion = nil
            $0.poll.handleAnswer(asked.number, word, at: now.instant)
            wantsExtension = $0.poll.reportExtension(at: now.instant)
            if !$0.poll.isDoubted { $0.isPortalKnown = true }
        }
        if side == .inUse { portalChanged(from: before, wantsExtension: wantsExtension) }
        guard reach(side)?.check?.awaitsPortal == true else { return }
        let state = reach(side)?.poll.state(at: now.instant)
        step(side) { [now] in $0.heard(.portal, .portal(state), at: now.instant) }
    }

    private mutating func portalChanged(from before: CaptiveState?, wantsExtension: Bool) {
        let state = portal
        if wantsExtension { effects.append(.sessionEnds) }
        // Before the first check, nothing is reported. That check uses this state.
        guard inUse.findings != nil else { return }
        inUse.findings?.portal = state
        if state?.isCaptive != before?.isCaptive { effects.append(.forgetNames) }
        if state != before { effects.append(.changed) }
        if state?.isCaptive == true, before?.isCaptive != true, settings.required > .link, case .wifi(let epoch) = path
        {
            // The network has become captive, or always was. A probe shows the result.
            sendToPolicy(.doubted(epoch: epoch))
        }
    }

    // MARK: Signing in

    private mutating func answer(_ verdict: ReachVerdict, _ epoch: UInt64) {
        // The portal's name server may answer differently after a sign-in.
        if verdict.internet == .captive { effects.append(.forgetNames) }
        guard verdict.result == .captive, settings.hasProviders else {
            if settings.hasProviders {
                if verdict.result == .online { effects.append(.onlineFound) }
                if verdict.result == .failed { effects.append(.offlineFound) }
            }
            return report(verdict, epoch)
        }
        let isTried = signIn.status.isTryingWhereCaptive
        effects.append(.captiveFound)
        guard isTried else { return sendToPolicy(.probed(epoch: epoch, .captive)) }
        // Make the policy wait until the providers report if one of them signs in.
        signIn.await()
        sendToPolicy(.signingIn(epoch: epoch, until: now.instant + settings.evaluateLimit))
    }

    private mutating func signInChanged(to new: SignInStatus) {
        let old = signIn.status
        let effect = signIn.changed(to: new)
        if new.request != old.request {
            if let request = old.request { effects.append(.publish(.portalEnded(PortalEnded(id: request.id)))) }
            if let request = new.request { effects.append(.publish(.portalRequest(request))) }
        }
        if new.problem != old.problem { effects.append(.problem(new.problem)) }
        if new.portal != old.portal { effects.append(.changed) }
        guard case .wifi(let epoch) = path else { return }
        switch effect {
        case .nothing: break
        case .look:
            effects.append(.forgetNames)
            inUse.poll.doubt(at: now.instant)
            inUse.isPortalKnown = false
            check(within: settings.checkLimit, then: .signedIn(epoch: epoch))
        case .isUnderWay(let end): sendToPolicy(.signingIn(epoch: epoch, until: end))
        case .isLeftToOthers: sendToPolicy(.probed(epoch: epoch, verdict?.result ?? .captive))
        }
    }

    private mutating func signedIn(_ verdict: ReachVerdict, _ epoch: UInt64) {
        signIn.isOver()
        switch verdict.result {
        case .captive: effects.append(.captiveFound)
        case .online: effects.append(.onlineFound)
        case .failed, nil: break
        }
        report(verdict, epoch)
    }

    private mutating func logOff() {
        guard case .wifi = path, settings.hasProviders, signIn.isSignedIn, !isLoggingOff else { return }
        isLoggingOff = true
        effects.append(.logOff)
    }

    // MARK: Status

    private mutating func record(_ new: ReachFindings) {
        let old = verdict
        (inUse.findings, checked) = (new, now.time)
        if verdict != old { effects.append(.changed) }
    }

    package var verdict: ReachVerdict? { inUse.findings.map { ReachVerdict($0, required: settings.required) } }

    /// Whether a request to the captive portal API is pending or due.
    package func isAskingPortal(at now: Instant) -> Bool {
        inUse.portalQuestion != nil || inUse.poll.next.map { $0 <= now } ?? false
    }

    package var checkFindings: ReachFindings? { inUse.check?.findings }

    package func isAsking(_ id: ReachQuestionID) -> Bool { questions[id] != nil }

    package var signInProblem: String? { signIn.status.problem }

    package func portalState(at now: Instant) -> CaptiveState? { inUse.poll.state(at: now) }

    package func connectivity(at now: ClockReading) -> Connectivity {
        Connectivity(
            level: path == .none ? nil : verdict?.level ?? .link, required: settings.required,
            internet: verdict?.internet ?? .unknown, checksInternet: settings.hasSource, problem: verdict?.problem,
            portal: signInPortal(at: now.instant), targets: targets.map { $0.report(at: now) }, reachability: flags,
            checked: checked)
    }

    package func portalStatus(at now: Instant) -> PortalStatus {
        PortalStatus(portal: signInPortal(at: now), request: signIn.status.request, problem: signIn.status.problem)
    }

    private func signInPortal(at now: Instant) -> Portal? {
        guard verdict?.internet == .captive || signIn.status.portal.state != .inactive else { return nil }
        var portal = signIn.status.portal
        portal.url = portal.url ?? verdict?.portal
        // A session that has not started has no remaining time (RFC 8908, 5).
        if verdict?.internet != .captive, let state = portalState(at: now) {
            (portal.secondsRemaining, portal.bytesRemaining) = (state.secondsRemaining, state.bytesRemaining)
        }
        return portal
    }

    // MARK: Budget for other callers

    package mutating func spend(for purpose: QuestionBudget.Purpose, at now: Instant) -> Bool {
        budget.spend(for: purpose, at: now)
    }

    package mutating func spent(bytes count: Int, for purpose: QuestionBudget.Purpose) {
        budget.spent(bytes: count, for: purpose)
    }
}

private struct LinkReach: Sendable {
    enum Conclusion: Sendable, Equatable {
        case nothing
        case probe(epoch: UInt64)
        /// A target answers, but its answer alone is not enough proof.
        case target(epoch: UInt64)
        /// The targets or the required level have changed.
        case retargeted(epoch: UInt64)
        case signedIn(epoch: UInt64)
    }

    struct PortalQuestion: Sendable {
        let number: Int
        let end: Instant
    }

    let begin: Instant
    var findings: ReachFindings?
    /// Time of the last request to the validation source; nil before the first.
    var sourceAsked: Instant?
    /// Whether the captive portal API has been asked, with or without an answer.
    var isPortalKnown = false
    var poll: CaptivePortalPoll
    var portalQuestion: PortalQuestion?
    /// Running check; nil if none runs.
    var check: ConnectivityCheck?
    /// Conclusions that wait for the check.
    var waiting: [Conclusion] = []

    init(at now: Instant) { (begin, poll) = (now, CaptivePortalPoll(at: now)) }

    /// Whether a request to the captive portal API is pending and the last answer may be outdated.
    var awaitsPortal: Bool { poll.isDoubted && portalQuestion != nil }
}

// MARK: Events and effects

package struct ReachQuestionID: Hashable, Sendable {
    package let rawValue: UInt64
}

/// The current link, or the new one during make-before-break.
package enum LinkSide: Hashable, Sendable {
    case inUse, beside
}

package enum ConnectivityEvent: Sendable {
    /// State of all targets. Sent before an event that depends on it.
    case targets(inUse: [ReachTarget], beside: [ReachTarget])
    case follow(TrafficPath, isMetered: Bool = false)
    case probe(epoch: UInt64, within: Duration)
    case probeSuccessor(epoch: UInt64, StationID, within: Duration)
    case leaveSuccessor
    case targetChanged(LinkSide, String)
    /// A target's connection over the current link was lost.
    case targetDoubted(String)
    case answer(ReachQuestionID, ReachAnswer)
    case timer
    case flags(ReachabilityFlags)
    case signIn(SignInStatus)
    case logOff
    case loggedOff
    /// End the running check. Unanswered questions count as timed out.
    case timeIsOver
    /// The targets or the required level have changed. `kept` names the unchanged targets. Sent after `targets`.
    case retargeted(required: ReachLevel, kept: Set<String>)
    /// The state of the captive portal API may be outdated.
    case askPortalAnew
    /// The verdicts on uplinks other than Wi-Fi have changed.
    case uplinksJudged
}

package enum ReachQuestion: Sendable, Equatable {
    case target(String)
    case source
    case gateway
    /// URL of the captive portal API.
    case portalAddress
    case portal(url: String)
}

package enum ReachAnswer: Sendable {
    /// Problem of a target; nil if the target answers.
    case target(ReachProblem?)
    /// Result of the validation source. `cost` is in bytes.
    case source(ValidationFinding, cost: Int)
    /// Whether the gateway answers; also true without a gateway.
    case gateway(Bool)
    /// Address of the captive portal API; nil if the network announces none.
    case portalAddress(String?)
    /// Answer of the captive portal API; nil if invalid. `cost` is in bytes.
    case portal(CaptiveState?, cost: Int)
}

package enum ConnectivityEffect: Sendable {
    case ask(ReachQuestionID, ReachQuestion, LinkSide, within: Duration)
    /// Cancel these questions. Their cost still counts.
    case cancel([ReachQuestionID])
    /// Move the connections to the targets to this path.
    case follow(TrafficPath)
    /// Open separate connections to the targets over this station; nil closes them.
    case followBeside(StationID?)
    /// Clear the name cache.
    case forgetNames
    case sendToPolicy(PolicyEvent)
    case publish(Event.Body)
    case changed
    /// The problem of the sign-in has changed; nil if it is solved.
    case problem(String?)
    /// A captive network was found. This effect and the following ones are for hotspot providers.
    case captiveFound
    case onlineFound
    /// A check found neither a portal nor internet access.
    case offlineFound
    case sessionEnds
    case logOff
    case networkLeft
}

package struct ReachTarget: Sendable, Equatable {
    package let name: String
    package let host: String
    package let port: Int
    package let isTLS: Bool
    package var status: ConnectionStatus

    package init(name: String, host: String, port: Int, isTLS: Bool, status: ConnectionStatus) {
        (self.name, self.host, self.port, self.isTLS, self.status) = (name, host, port, isTLS, status)
    }

    package var proof: ReachFindings.Proof { !status.isFar ? .near : isTLS ? .certified : .far }

    var answer: ReachFindings.Answer? {
        status.isOnline ? .answers(proof) : status.reason.map { .problem($0) }
    }

    fileprivate var unconnected: ReachTarget {
        var target = self
        target.status = ConnectionStatus(state: .setup, since: status.since)
        return target
    }

    package func report(at now: ClockReading) -> TargetStatus {
        let age = max(0, (now.instant - status.since).milliseconds)
        return TargetStatus(
            name: name, host: host, port: port, state: status.state, reason: status.reason,
            since: Timestamp(millisecondsSince1970: now.time.millisecondsSince1970 - age))
    }
}

package struct SignInStatus: Sendable, Equatable {
    package var portal = Portal()
    /// Pending request to the user; nil without one.
    package var request: PortalRequest?
    /// Time until which the device should stay for a sign-in; nil without one.
    package var signingInUntil: Instant?
    /// Whether the agent starts a sign-in when it finds a captive network.
    package var isTryingWhereCaptive = true
    /// Last failure of a sign-in, printable and without secrets.
    package var problem: String?

    package init() {}

    /// Whether a provider reports success that no check has confirmed yet.
    fileprivate var awaitsCheck: Bool { portal.state == .authenticated && portal.provider != nil }
}

/// Tracks the sign-in for the policy.
struct SignInProgress: Sendable {
    enum Effect: Equatable {
        case nothing
        /// A provider reports success. A check must confirm it.
        case look
        case isUnderWay(until: Instant)
        /// No provider can sign in, or the user must act. Other networks are better.
        case isLeftToOthers
    }

    private(set) var status = SignInStatus()
    /// Whether the policy waits for the result of the sign-in.
    private var isAwaited = false

    /// Whether a provider has signed in, so that it may have to log off.
    var isSignedIn: Bool { status.awaitsCheck || status.portal.state == .maintaining }

    mutating func networkLeft() { isAwaited = false }

    mutating func await() { isAwaited = true }

    mutating func isOver() { isAwaited = false }

    mutating func changed(to new: SignInStatus) -> Effect {
        let old = status
        status = new
        if new.awaitsCheck, !old.awaitsCheck { return .look }
        if let end = new.signingInUntil, new.portal.state != .presentingUI {
            isAwaited = true
            return .isUnderWay(until: end)
        }
        guard isAwaited, new.signingInUntil == nil || new.portal.state == .presentingUI else { return .nothing }
        isAwaited = false
        return .isLeftToOthers
    }
}
