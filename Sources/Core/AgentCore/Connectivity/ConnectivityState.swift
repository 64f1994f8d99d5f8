import AgentModel
import AppProtocol
import Failover

/// What is known of how far the network in use leads, and what is asked next.
///
/// A pure value: what was heard and the time go in, what is to be done comes out, in order. `ConnectivityMonitor` asks,
/// and tells what was answered. What is found belongs to the link that it was found on; what comes late is dropped.
package struct ConnectivityState: Sendable {
    package struct Settings: Sendable {
        package var required: ReachLevel
        /// Whether there is a source of validation to ask, and hotspot providers that sign in.
        package var hasSource: Bool
        package var hasProviders: Bool
        /// For a check that has no other limit.
        package var checkLimit = Duration.seconds(3)
        /// How long a target that was heard lately has to say so again, before anything else is asked.
        package var headStart = Duration.milliseconds(500)
        /// How long it may take until it is known whether a provider signs in here.
        package var evaluateLimit = Duration.seconds(6)

        package init(required: ReachLevel, hasSource: Bool, hasProviders: Bool) {
            (self.required, self.hasSource, self.hasProviders) = (required, hasSource, hasProviders)
        }
    }

    package var settings: Settings
    /// What all questions together may cost.
    private var budget: QuestionBudget
    package private(set) var path = TrafficPath.none
    private var inUse: LinkReach
    /// What is asked over the link that is made beside the one in use.
    private var beside: (epoch: UInt64, reach: LinkReach)?
    /// When something was found last.
    private var checked: Timestamp?
    private var signIn = SignInProgress()
    private var isLoggingOff = false
    private var flags: ReachabilityFlags = []
    /// When the way of another uplink is checked next; nothing is decided by it.
    private var nextOwnCheck: Instant?
    /// The targets' connections, over the link in use and over the one beside.
    private var targets: [ReachTarget] = []
    private var targetsBeside: [ReachTarget] = []

    private var questions: [ReachQuestionID: Asked] = [:]
    private var lastQuestion: UInt64 = 0
    private var orders: [ConnectivityOrder] = []
    /// What the policy is to hear. It comes last, for it may lead to the next input.
    private var told: [PolicyEvent] = []
    /// Of the input that is being handled.
    private var now: ClockReading

    /// A question under way.
    private struct Asked {
        let side: LinkSide
        /// Nil where the network is asked about itself.
        let question: ConnectivityCheck.Question?
        let moment: Instant
    }

    package init(_ settings: Settings, budget: QuestionBudget.Limits = QuestionBudget.Limits(), at now: ClockReading) {
        self.settings = settings
        self.budget = QuestionBudget(budget)
        self.now = now
        inUse = LinkReach(at: now.instant)
    }

    /// Takes in one thing that happened.
    /// - Returns: what is to be done now, strictly in this order.
    package mutating func handle(_ input: ConnectivityInput, at now: ClockReading) -> [ConnectivityOrder] {
        self.now = now
        take(input)
        defer { (orders, told) = ([], []) }
        return orders + told.map { .tell($0) }
    }

    private mutating func take(_ input: ConnectivityInput) {
        switch input {
        case .targets(let inUse, let beside): (targets, targetsBeside) = (inUse, beside)
        case .follow(let path): follow(path)
        case .probe(let epoch, let limit):
            guard path == .wifi(epoch: epoch) else { return }
            check(within: Self.shortened(limit), then: .probe(epoch: epoch))
        case .probeSuccessor(let epoch, let station, let limit): probeSuccessor(epoch, station, within: limit)
        case .leaveSuccessor: leaveSuccessor()
        case .targetChanged(let side, let name): targetChanged(name, side)
        case .targetDoubted(let name): targetDoubted(name)
        case .answered(let id, let answer): answered(id, answer)
        case .timer: doWhatIsDue()
        case .flags(let new):
            guard new != flags else { return }
            flags = new
            orders.append(.changed)
        case .signIn(let status): signInChanged(to: status)
        case .logOff: logOff()
        case .loggedOff:
            isLoggingOff = false
            orders.append(.networkLeft)
        case .timeIsOver: end(checkOf: .inUse)
        case .check: check(within: settings.checkLimit, then: .nothing)
        case .retargeted(let required, let kept): retarget(required, keeping: kept)
        case .askPortalAnew: inUse.poll.doubt(at: now.instant)
        }
    }

    /// A little less than the policy's own limit, so that it hears why.
    static func shortened(_ limit: Duration) -> Duration { max(.milliseconds(100), limit - .milliseconds(200)) }

    // MARK: The path

    private mutating func follow(_ new: TrafficPath) {
        guard new != path else { return }
        path = new
        cancel(.inUse)
        inUse = LinkReach(at: now.instant)
        (checked, nextOwnCheck) = (nil, nil)
        signIn.networkLeft()
        // Or else at the end of it.
        if !isLoggingOff { orders.append(.networkLeft) }
        orders += [.forgetNames, .follow(new)]
        // Nothing else asks then.
        if case .other = new { checkByItself() }
        orders.append(.changed)
    }

    private mutating func checkByItself() {
        nextOwnCheck = now.instant + .seconds(60)
        check(within: settings.checkLimit, then: .nothing)
    }

    // MARK: Time

    /// When `timer` is to come; nil while nothing is waited for.
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

    /// What waits for an earlier check is told what this one finds.
    private mutating func check(within limit: Duration, then conclusion: LinkReach.Conclusion) {
        guard path != .none else { return }
        let first = targets.filter(isEnough)
        var known = ReachFindings(source: inUse.findings?.source, portal: portal)
        known.open = first.reduce([]) { $0.union(open(besides: $1)) }
        inUse.waiting.append(conclusion)
        begin(.inUse, knowing: known, first: first.map(\.name), within: limit)
    }

    private mutating func begin(
        _ side: LinkSide, knowing known: ReachFindings, first: [String], within limit: Duration
    ) {
        cancelCheck(side)
        var check = ConnectivityCheck(
            of: targets(side).map(\.name), hasSource: settings.hasSource, for: settings.required, knowing: known,
            from: now.instant, within: limit)
        let asked = check.begin(asking: first, headStart: settings.headStart, at: now.instant)
        change(side) { $0.check = check }
        ask(asked, side)
    }

    /// Has the check go on, and what comes of it done.
    private mutating func step(_ side: LinkSide, _ step: (inout ConnectivityCheck) -> ConnectivityCheck.Step) {
        guard var check = reach(side)?.check else { return }
        let outcome = step(&check)
        change(side) { $0.check = check }
        switch outcome {
        case .ask(let questions): ask(questions, side)
        case .over: conclude(side, check.findings)
        }
    }

    private mutating func ask(_ asked: [ConnectivityCheck.Question], _ side: LinkSide) {
        // What is answered without a question is heard after all others have been put.
        var answers: [(ConnectivityCheck.Question, ConnectivityCheck.Answer)] = []
        for question in asked {
            guard let rest = reach(side)?.check?.rest(at: now.instant) else { return }
            switch question {
            case .target(let name): put(.target(name), question, side, within: rest)
            case .source:
                if budget.take(for: .probe, at: now.instant) {
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

    private mutating func end(checkOf side: LinkSide) {
        step(side) {
            $0.timeIsOver()
            return .over
        }
    }

    @discardableResult
    private mutating func put(
        _ order: ReachQuestion, _ question: ConnectivityCheck.Question?, _ side: LinkSide, within limit: Duration
    ) -> ReachQuestionID {
        lastQuestion += 1
        let id = ReachQuestionID(rawValue: lastQuestion)
        questions[id] = Asked(side: side, question: question, moment: now.instant)
        orders.append(.ask(id, order, side, within: limit))
        return id
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
        orders.append(.cancel(ids))
    }

    private mutating func conclude(_ side: LinkSide, _ found: ReachFindings) {
        cancelCheck(side)
        guard side == .inUse else {
            if let epoch = beside?.epoch { report(ReachVerdict(found, required: settings.required), epoch) }
            return
        }
        var findings = found
        // What others said before, and was not waited for now, still counts.
        findings.targets.merge(inUse.findings?.targets ?? [:]) { new, _ in new }
        // It may have been said since the check began.
        findings.portal = portal
        note(findings)
        let waiting = inUse.waiting
        inUse.waiting = []
        guard let verdict else { return }
        for conclusion in waiting { conclude(conclusion, verdict) }
    }

    private mutating func conclude(_ conclusion: LinkReach.Conclusion, _ verdict: ReachVerdict) {
        switch conclusion {
        case .nothing: break
        case .probe(let epoch): answer(verdict, epoch)
        case .target(let epoch): if verdict.result == .online { tell(.probed(epoch: epoch, .online)) }
        case .signedIn(let epoch): signedIn(verdict, epoch)
        }
    }

    private mutating func tell(_ event: PolicyEvent) { told.append(event) }

    /// Tells the policy what came of a probe.
    private mutating func report(_ verdict: ReachVerdict, _ epoch: UInt64) {
        tell(
            verdict.result.map { .probed(epoch: epoch, $0) }
                ?? .postponed(epoch: epoch, until: budget.next(for: .probe, at: now.instant)))
    }

    // MARK: Answers

    private mutating func answered(_ id: ReachQuestionID, _ answer: ReachAnswer) {
        // It cost as much where nothing is done with it.
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
            heard = .target(problem.map { .problem($0) } ?? .answers(target.proof))
        case .source(let finding, _):
            heard = .source(finding)
            change(asked.side) { $0.sourceAsked = asked.moment }
        case .gateway(let answers): heard = .gateway(answers)
        case .portalAddress, .portal: return
        }
        step(asked.side) { [now] in $0.heard(question, heard, at: now.instant) }
    }

    // MARK: What need not be asked

    /// Whether a target that is ready, and says so again, is all that has to be known.
    private func isEnough(_ target: ReachTarget) -> Bool {
        guard target.status.isOnline else { return false }
        var findings = ReachFindings(source: inUse.findings?.source, portal: portal)
        findings.targets[target.name] = .answers(target.proof)
        findings.open = open(besides: target)
        return ReachVerdict(findings, required: settings.required).result == .online
    }

    /// What has to be asked besides a target that answers. A word of the source counts for as long as the same
    /// connection to a server in the internet lives: where a network closes, it ends, and what answers in its place is
    /// not believed.
    private func open(besides target: ReachTarget) -> ReachFindings.Open {
        let status = target.status
        let isFresh =
            status.isFar && inUse.findings?.source == .online && inUse.sourceAsked.map { $0 >= status.since } ?? false
        var open: ReachFindings.Open = inUse.isPortalKnown ? [] : .portal
        if settings.hasSource, !isFresh { open.insert(.source) }
        return open
    }

    // MARK: Other targets

    /// What was found of targets that are gone counts no more, and what is there now is asked.
    private mutating func retarget(_ required: ReachLevel, keeping kept: Set<String>) {
        settings.required = required
        for name in inUse.findings?.targets.keys.filter({ !kept.contains($0) }) ?? [] {
            inUse.findings?.targets[name] = nil
        }
        orders.append(.changed)
        if beside?.reach.check != nil, let next = beside?.reach.check?.next {
            begin(.beside, knowing: ReachFindings(), first: [], within: max(.zero, next - now.instant))
        }
        if required > .link { check(within: settings.checkLimit, then: .nothing) }
    }

    // MARK: What comes unasked

    /// A target's connection is in another state.
    private mutating func targetChanged(_ name: String, _ side: LinkSide) {
        guard let target = targets(side).first(where: { $0.name == name }) else { return }
        guard side == .inUse else {
            return step(.beside) { [now] in $0.changed(name, target.answer, at: now.instant) }
        }
        orders.append(.publish(.targetChanged(target.report(at: now))))
        step(.inUse) { [now] in $0.changed(name, target.answer, at: now.instant) }
        noteChange(of: target)
        orders.append(.changed)
    }

    private mutating func noteChange(of target: ReachTarget) {
        let isReady = target.status.isOnline
        // What is not known yet is not known any worse because of a target.
        guard path != .none, isReady || inUse.findings != nil else { return }
        var new = inUse.findings ?? ReachFindings(portal: portal)
        new.targets[target.name] = target.answer
        note(new)
        // A check that is under way tells.
        guard isReady, inUse.check == nil, case .wifi(let epoch) = path else { return }
        if isEnough(target) {
            tell(.probed(epoch: epoch, .online))
        } else if settings.required > .link {
            check(within: settings.checkLimit, then: .target(epoch: epoch))
        }
    }

    /// A connection that was there is not any more. Where another one is enough, the network is not to blame.
    private mutating func targetDoubted(_ name: String) {
        let required = settings.required
        guard required == .target || required == .internet, case .wifi(let epoch) = path else { return }
        let others = targets.filter { $0.name != name && $0.status.isOnline }
        guard !others.contains(where: { required == .target || $0.status.isFar }) else { return }
        tell(.doubted(epoch: epoch))
    }

    // MARK: A link beside the one in use

    /// Nothing of it is taken for what the link in use leads to.
    private mutating func probeSuccessor(_ epoch: UInt64, _ station: StationID, within limit: Duration) {
        if beside?.epoch != epoch {
            leaveSuccessor()
            beside = (epoch, LinkReach(at: now.instant))
            // Its targets are those of the link in use, with connections of their own.
            targetsBeside = targets.map(\.unconnected)
            orders.append(.followBeside(station))
        }
        begin(.beside, knowing: ReachFindings(), first: [], within: Self.shortened(limit))
    }

    private mutating func leaveSuccessor() {
        guard beside != nil else { return }
        cancel(.beside)
        beside = nil
        orders.append(.followBeside(nil))
    }

    // MARK: What the network says of itself

    /// What it said last and still counts.
    private var portal: CaptiveState? { inUse.poll.state(at: now.instant) }

    private mutating func askPortalIfDue(_ side: LinkSide) {
        guard let link = reach(side), side == .beside || path != .none, let next = link.poll.next, next <= now.instant
        else { return }
        // Another question may be under way, from before it came into doubt.
        cancel { $0.side == side && $0.question == nil }
        // Nothing waits for a look that is only a look again, and a wait would wake the processor ten times.
        let patience: Duration = link.poll.isDoubted ? .seconds(1) : .zero
        change(side) { [now] in
            $0.portalQuestion = LinkReach.PortalQuestion(number: $0.poll.ask(), end: now.instant + Self.portalLimit)
        }
        put(.portalAddress, nil, side, within: patience)
    }

    /// For one question, with the name and the connection.
    private static let portalLimit = Duration.seconds(3)

    private mutating func portalAnswered(_ answer: ReachAnswer, _ side: LinkSide) {
        guard let asked = reach(side)?.portalQuestion else { return }
        let word: CaptivePortalPoll.Answer
        switch answer {
        case .portalAddress(let url?):
            if budget.take(for: .portalAPI, at: now.instant) {
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
            $0.poll.answered(asked.number, word, at: now.instant)
            wantsExtension = $0.poll.takeExtension(at: now.instant)
            if !$0.poll.isDoubted { $0.isPortalKnown = true }
        }
        if side == .inUse { portalChanged(from: before, wantsExtension: wantsExtension) }
        guard reach(side)?.check?.awaitsPortal == true else { return }
        let state = reach(side)?.poll.state(at: now.instant)
        step(side) { [now] in $0.heard(.portal, .portal(state), at: now.instant) }
    }

    private mutating func portalChanged(from before: CaptiveState?, wantsExtension: Bool) {
        let state = portal
        if wantsExtension { orders.append(.sessionEnds) }
        // Nothing was checked yet: the check that is to come takes it into account.
        guard inUse.findings != nil else { return }
        inUse.findings?.portal = state
        if state?.isCaptive != before?.isCaptive { orders.append(.forgetNames) }
        if state != before { orders.append(.changed) }
        if state?.isCaptive == true, before?.isCaptive != true, settings.required > .link, case .wifi(let epoch) = path
        {
            // It has closed, or has been closed all along: a probe shows what comes of it.
            tell(.doubted(epoch: epoch))
        }
    }

    // MARK: Signing in

    /// Answers a probe.
    private mutating func answer(_ verdict: ReachVerdict, _ epoch: UInt64) {
        // Whatever a portal's name server said, it may say something else after a sign-in.
        if verdict.internet == .captive { orders.append(.forgetNames) }
        guard verdict.result == .captive, settings.hasProviders else {
            if verdict.result == .online, settings.hasProviders { orders.append(.onlineFound) }
            return report(verdict, epoch)
        }
        let isTried = signIn.status.isTryingWhereCaptive
        orders.append(.captiveFound)
        guard isTried else { return tell(.probed(epoch: epoch, .captive)) }
        // Until it is known whether a provider signs in here.
        signIn.await()
        tell(.signingIn(epoch: epoch, until: now.instant + settings.evaluateLimit))
    }

    private mutating func signInChanged(to new: SignInStatus) {
        let old = signIn.status
        let consequence = signIn.changed(to: new)
        if new.request != old.request {
            if let request = old.request { orders.append(.publish(.portalEnded(PortalEnded(id: request.id)))) }
            if let request = new.request { orders.append(.publish(.portalRequest(request))) }
        }
        if new.problem != old.problem { orders.append(.problem(new.problem)) }
        if new.portal != old.portal { orders.append(.changed) }
        guard case .wifi(let epoch) = path else { return }
        switch consequence {
        case .nothing: break
        case .look:
            orders.append(.forgetNames)
            inUse.poll.doubt(at: now.instant)
            inUse.isPortalKnown = false
            check(within: settings.checkLimit, then: .signedIn(epoch: epoch))
        case .isUnderWay(let end): tell(.signingIn(epoch: epoch, until: end))
        case .isLeftToOthers: tell(.probed(epoch: epoch, .captive))
        }
    }

    private mutating func signedIn(_ verdict: ReachVerdict, _ epoch: UInt64) {
        signIn.isOver()
        switch verdict.result {
        case .captive: orders.append(.captiveFound)
        case .online: orders.append(.onlineFound)
        case .failed, nil: break
        }
        report(verdict, epoch)
    }

    /// The network is about to be left on purpose: the provider that signed in logs off, as long as the link is still
    /// there.
    private mutating func logOff() {
        guard case .wifi = path, settings.hasProviders, signIn.isSignedIn, !isLoggingOff else { return }
        isLoggingOff = true
        orders.append(.logOff)
    }

    // MARK: Status

    /// Something else is known now.
    private mutating func note(_ new: ReachFindings) {
        let old = verdict
        (inUse.findings, checked) = (new, now.time)
        if verdict != old { orders.append(.changed) }
    }

    /// What follows of what was found last.
    package var verdict: ReachVerdict? { inUse.findings.map { ReachVerdict($0, required: settings.required) } }

    /// Whether the network is asked about itself, or will be at once.
    package func isAskingPortal(at now: Instant) -> Bool {
        inUse.portalQuestion != nil || inUse.poll.next.map { $0 <= now } ?? false
    }

    /// What the check under way has found so far; nil where there is none.
    package var checkFindings: ReachFindings? { inUse.check?.findings }

    /// Whether the answer to this question is still wanted.
    package func isAsking(_ id: ReachQuestionID) -> Bool { questions[id] != nil }

    /// What went wrong with a sign-in, if anything did.
    package var signInProblem: String? { signIn.status.problem }

    /// What the network said of itself last and still counts.
    package func portalState(at now: Instant) -> CaptiveState? { inUse.poll.state(at: now) }

    package func connectivity(at now: ClockReading) -> Connectivity {
        Connectivity(
            level: path == .none ? nil : verdict?.level ?? .link, required: settings.required,
            internet: verdict?.internet ?? .unknown, problem: verdict?.problem, portal: signInPortal(at: now.instant),
            targets: targets.map { $0.report(at: now) }, reachability: flags, checked: checked)
    }

    package func portalStatus(at now: Instant) -> PortalStatus {
        PortalStatus(portal: signInPortal(at: now), request: signIn.status.request, problem: signIn.status.problem)
    }

    private func signInPortal(at now: Instant) -> Portal? {
        guard verdict?.internet == .captive || signIn.status.portal.state != .inactive else { return nil }
        var portal = signIn.status.portal
        portal.url = portal.url ?? verdict?.portal
        // Nothing remains of what has not begun (RFC 8908, 5).
        if verdict?.internet != .captive, let state = portalState(at: now) {
            (portal.secondsRemaining, portal.bytesRemaining) = (state.secondsRemaining, state.bytesRemaining)
        }
        return portal
    }

    // MARK: The budget, for what others ask

    package mutating func take(for purpose: QuestionBudget.Purpose, at now: Instant) -> Bool {
        budget.take(for: purpose, at: now)
    }

    package mutating func spent(bytes count: Int, for purpose: QuestionBudget.Purpose) {
        budget.spent(bytes: count, for: purpose)
    }
}

/// What is known of how far one link leads, and what is asked of it.
private struct LinkReach: Sendable {
    /// What a check was made for.
    enum Conclusion: Sendable {
        case nothing
        case probe(epoch: UInt64)
        /// A target is ready; it alone is not proof enough.
        case target(epoch: UInt64)
        /// A provider says that it has signed in.
        case signedIn(epoch: UInt64)
    }

    struct PortalQuestion: Sendable {
        /// The poll's.
        let number: Int
        let end: Instant
    }

    /// What was found on it last.
    var findings: ReachFindings?
    /// When the source of validation was asked last, and whether the network was asked about itself.
    var sourceAsked: Instant?
    var isPortalKnown = false
    /// What the network says of itself.
    var poll: CaptivePortalPoll
    var portalQuestion: PortalQuestion?
    /// The check that is under way, and what waits for it.
    var check: ConnectivityCheck?
    var waiting: [Conclusion] = []

    init(at now: Instant) { poll = CaptivePortalPoll(at: now) }

    /// Whether the network's own word is on its way, and nothing that still counts was said before.
    var awaitsPortal: Bool { poll.isDoubted && portalQuestion != nil }
}

// MARK: What goes in and comes out

/// Marks a question until it is answered.
package struct ReachQuestionID: Hashable, Sendable {
    package let rawValue: UInt64
}

/// The link in use, or the one that is made beside it.
package enum LinkSide: Hashable, Sendable {
    case inUse, beside
}

/// What is heard of how far networks lead.
package enum ConnectivityInput: Sendable {
    /// How the connections to the targets are now. It goes before the input that it belongs to.
    case targets(inUse: [ReachTarget], beside: [ReachTarget])
    /// Packets go this way now.
    case follow(TrafficPath)
    case probe(epoch: UInt64, within: Duration)
    /// The same, of a link that is made beside the one in use.
    case probeSuccessor(epoch: UInt64, StationID, within: Duration)
    case leaveSuccessor
    /// The target of this name is in another state.
    case targetChanged(LinkSide, String)
    /// It was ready over the link in use, and is no more.
    case targetDoubted(String)
    case answered(ReachQuestionID, ReachAnswer)
    /// The time of `nextWake` has come.
    case timer
    case flags(ReachabilityFlags)
    case signIn(SignInStatus)
    /// The network is about to be left on purpose.
    case logOff
    case loggedOff
    /// The check under way ends: what has not answered is silent.
    case timeIsOver
    /// A check that nothing waits for.
    case check
    /// The targets are others, and so may be the level that a network has to reach. It comes after `targets`.
    ///
    /// - Parameter kept: the names of those that are the same as before.
    case retargeted(required: ReachLevel, kept: Set<String>)
    /// What the network said of itself is in doubt.
    case askPortalAnew
}

package enum ReachQuestion: Sendable, Equatable {
    case target(String)
    /// The source of validation.
    case source
    case gateway
    /// Where the network can be asked about itself.
    case portalAddress
    case portal(url: String)
}

package enum ReachAnswer: Sendable {
    /// Nil if it answers.
    case target(ReachProblem?)
    /// With the cost in bytes.
    case source(ValidationFinding, cost: Int)
    /// True where there is none.
    case gateway(Bool)
    /// Nil where the network did not tell.
    case portalAddress(String?)
    /// Nil where it says nothing that can be understood.
    case portal(CaptiveState?, cost: Int)
}

/// What is to be done to know how far networks lead, and with what is known.
package enum ConnectivityOrder: Sendable {
    case ask(ReachQuestionID, ReachQuestion, LinkSide, within: Duration)
    /// These answers are not wanted any more. What they have cost is.
    case cancel([ReachQuestionID])
    /// Connections to the targets go over this path from now on.
    case follow(TrafficPath)
    /// The targets get connections of their own over this station; nil ends them.
    case followBeside(StationID?)
    /// Names are asked for anew.
    case forgetNames
    case tell(PolicyEvent)
    case publish(Event.Body)
    /// The connectivity is another one.
    case changed
    /// What went wrong with a sign-in is another thing, or nothing any more.
    case problem(String?)
    /// Providers are told of the network in use.
    case captiveFound
    case onlineFound
    case sessionEnds
    case logOff
    case networkLeft
}

/// A target as it is seen over one link.
package struct ReachTarget: Sendable, Equatable {
    package let name: String
    package let host: String
    package let port: Int
    package let isTLS: Bool
    package var status: ConnectionStatus

    package init(name: String, host: String, port: Int, isTLS: Bool, status: ConnectionStatus) {
        (self.name, self.host, self.port, self.isTLS, self.status) = (name, host, port, isTLS, status)
    }

    /// What its answer proves, if it answers.
    var proof: ReachFindings.Proof { !status.isFar ? .near : isTLS ? .certified : .far }

    /// What is known without asking it.
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

/// How a sign-in at the network in use stands.
package struct SignInStatus: Sendable, Equatable {
    package var portal = Portal()
    /// The question to a person now.
    package var request: PortalRequest?
    /// Until when the device should stay at the network, because a sign-in is under way; nil where none is.
    package var signingInUntil: Instant?
    /// Whether a network that is found to be captive now starts a sign-in.
    package var isTryingWhereCaptive = true
    /// The last failure, printable and without secrets.
    package var problem: String?

    package init() {}
}

/// How the sign-in at the network in use goes, and what of it concerns the policy.
struct SignInProgress: Sendable {
    /// What the policy has to hear, and what has to be found out, after a change.
    enum Consequence: Equatable {
        case nothing
        /// A provider says that it is done: the network itself shows whether it is so.
        case look
        case isUnderWay(until: Instant)
        /// No provider can, or a person has to: a network that needs neither is better.
        case isLeftToOthers
    }

    private(set) var status = SignInStatus()
    /// Whether the policy waits for what comes of it.
    private var isAwaited = false

    /// Whether a provider has signed in, and may have to log off.
    var isSignedIn: Bool { status.portal.state == .authenticated || status.portal.state == .maintaining }

    mutating func networkLeft() { isAwaited = false }

    /// The policy waits for what comes of it.
    mutating func await() { isAwaited = true }

    /// What came of it is known.
    mutating func isOver() { isAwaited = false }

    mutating func changed(to new: SignInStatus) -> Consequence {
        let old = status
        status = new
        if new.portal.state == .authenticated, old.portal.state != .authenticated { return .look }
        if let end = new.signingInUntil, new.portal.state != .presentingUI {
            isAwaited = true
            return .isUnderWay(until: end)
        }
        guard isAwaited, new.signingInUntil == nil || new.portal.state == .presentingUI else { return .nothing }
        isAwaited = false
        return .isLeftToOthers
    }
}
