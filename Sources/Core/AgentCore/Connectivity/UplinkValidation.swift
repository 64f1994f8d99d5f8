import AgentModel
import Failover

/// Checks uplinks other than Wi-Fi with the questions of a Wi-Fi network, asked through each uplink, whichever carries
/// the traffic. If the required level is the link, every uplink reaches it without a check.
///
/// A pure value: events and times go in, effects come out. `UplinkMonitor` performs the effects.
package struct UplinkValidation: Sendable {
    /// Maximum number of uplinks that are checked.
    package static let maximumUplinks = 4
    /// Time for the targets to answer before the other questions are asked.
    private static let headStart = Duration.milliseconds(500)

    private var required: ReachLevel
    private var targets: [String]
    private let hasSource: Bool
    private var budget: QuestionBudget
    private var watches: [Watch] = []
    /// Uplinks that were followed, oldest first. At most `maximumUplinks`, each for `UplinkJudgement.relapseTime`.
    private var past: [(uplink: UplinkCandidate, judgement: UplinkJudgement, end: Instant)] = []
    private var questions: [ReachQuestionID: (uplink: UplinkCandidate, question: ConnectivityCheck.Question)] = [:]
    private var lastQuestion: UInt64 = 0
    private var effects: [UplinkEffect] = []
    private var now = Instant(milliseconds: 0)

    private struct Watch: Sendable {
        let uplink: UplinkCandidate
        var judgement: UplinkJudgement
        /// Running check; nil if none runs.
        var check: ConnectivityCheck?
        /// Time of the last check's start, and of the next one's.
        var began: Instant?
        var due: Instant

        var next: Instant { check?.next ?? due }
        /// Whether connections to the targets last between checks. Over a modem they would cost money.
        var keepsConnections: Bool { uplink.kind != .cellular }
    }

    /// - Parameters:
    ///   - required: level that an uplink must reach.
    ///   - targets: names of the targets.
    ///   - hasSource: whether there is a validation source.
    package init(
        required: ReachLevel, targets: [String], hasSource: Bool,
        budget: QuestionBudget.Limits = QuestionBudget.Limits()
    ) {
        (self.required, self.targets, self.hasSource) = (required, targets, hasSource)
        self.budget = QuestionBudget(budget)
    }

    /// - Returns: effects to perform strictly in sequence.
    package mutating func handle(_ event: UplinkValidationEvent, at now: Instant) -> [UplinkEffect] {
        self.now = now
        let before = verdicts
        switch event {
        case .follow(let uplinks, let lost): follow(Array(uplinks.prefix(Self.maximumUplinks)), lost: lost)
        case .answer(let id, let answer): handleAnswer(id, answer)
        case .timer: doWhatIsDue()
        case .targetDoubted(let uplink): doubt(uplink)
        case .retargeted(let required, let targets): retarget(required, targets)
        }
        if verdicts != before { effects.append(.judged(verdicts)) }
        defer { effects = [] }
        return effects
    }

    /// Verdicts of the uplinks; an uplink without a verdict is missing.
    package var verdicts: [UplinkCandidate: UplinkVerdict] {
        var verdicts: [UplinkCandidate: UplinkVerdict] = [:]
        for watch in watches { verdicts[watch.uplink] = isChecking ? watch.judgement.verdict : .reachesLevel }
        return verdicts
    }

    /// Time of the next `timer` event; nil if none is needed.
    package var nextWake: Instant? { isChecking ? watches.map(\.next).min() : nil }

    private var isChecking: Bool { required > .link }

    /// Whether a target must answer.
    package var asksTargets: Bool { required == .target }

    package func isAsking(_ id: ReachQuestionID) -> Bool { questions[id] != nil }

    // MARK: Events

    private mutating func follow(_ new: [UplinkCandidate], lost: [UplinkCandidate]) {
        for uplink in lost { change(uplink) { [now] in $0.judgement.lost(at: now) } }
        for watch in watches where !new.contains(watch.uplink) {
            cancelQuestions(of: watch.uplink)
            effects.append(.close(watch.uplink))
        }
        let old = watches
        past.removeAll { $0.end <= now }
        watches = new.map { uplink in
            old.first { $0.uplink == uplink } ?? Watch(uplink: uplink, judgement: judgement(of: uplink), due: now)
        }
        past = past.filter { !new.contains($0.uplink) }
        past += old.filter { !new.contains($0.uplink) }
            .map { ($0.uplink, $0.judgement, now + UplinkJudgement.relapseTime) }
        past = past.suffix(Self.maximumUplinks)
        for watch in watches where watch.keepsConnections && !old.contains(where: { $0.uplink == watch.uplink }) {
            effects.append(.open(watch.uplink))
        }
        doWhatIsDue()
    }

    /// Returns the judgement of a new uplink. One followed lately stays failed or recovering: a cable may flap.
    private func judgement(of uplink: UplinkCandidate) -> UplinkJudgement {
        guard var judgement = past.last(where: { $0.uplink == uplink })?.judgement else {
            return UplinkJudgement(uplink.kind)
        }
        judgement.resume(at: now)
        return judgement
    }

    private mutating func doubt(_ uplink: UplinkCandidate) {
        change(uplink) { [now] watch in
            guard watch.check == nil, watch.judgement.verdict == .reachesLevel else { return }
            let earliest = watch.began.map { $0 + UplinkJudgement.recheck } ?? now
            watch.judgement.doubt()
            watch.due = min(watch.due, max(now, earliest))
        }
        doWhatIsDue()
    }

    private mutating func retarget(_ required: ReachLevel, _ targets: [String]) {
        (self.required, self.targets) = (required, targets)
        for uplink in watches.map(\.uplink) {
            cancelQuestions(of: uplink)
            let keepsConnections = watch(uplink)?.keepsConnections == true
            change(uplink) { [now] in ($0.check, $0.due) = (nil, now) }
            effects.append(keepsConnections ? .open(uplink) : .close(uplink))
        }
        doWhatIsDue()
    }

    private mutating func doWhatIsDue() {
        guard isChecking else { return }
        for watch in watches where watch.next <= now {
            if watch.check == nil {
                begin(watch.uplink)
            } else {
                step(watch.uplink) { [now] in $0.passed(to: now, portal: nil) }
            }
        }
    }

    // MARK: Checks

    private mutating func begin(_ uplink: UplinkCandidate) {
        guard let watch = watch(uplink) else { return }
        if !watch.keepsConnections { effects.append(.open(uplink)) }
        // Targets matter only if one of them must answer.
        let asked = required == .target ? targets : []
        var check = ConnectivityCheck(
            of: asked, hasSource: hasSource, for: required, knowing: ReachFindings(), from: now,
            within: watch.judgement.limit)
        let questions = check.begin(asking: asked, headStart: Self.headStart, at: now)
        change(uplink) { [now] in ($0.check, $0.began) = (check, now) }
        ask(questions, uplink)
    }

    private mutating func ask(_ asked: [ConnectivityCheck.Question], _ uplink: UplinkCandidate) {
        // Known answers are handled after all questions are sent.
        var known: [(ConnectivityCheck.Question, ConnectivityCheck.Answer)] = []
        for question in asked {
            guard let rest = watch(uplink)?.check?.rest(at: now) else { return }
            switch question {
            case .target(let name): put(.target(name), question, uplink, within: rest)
            case .source where budget.spend(for: .probe, at: now): put(.source, question, uplink, within: rest)
            case .source: known.append((question, .source(nil)))
            case .gateway: put(.gateway, question, uplink, within: rest)
            // The source finds a captive uplink without the portal's API.
            case .portal: known.append((question, .portal(nil)))
            }
        }
        for (question, answer) in known { step(uplink) { [now] in $0.heard(question, answer, at: now) } }
    }

    private mutating func put(
        _ order: ReachQuestion, _ question: ConnectivityCheck.Question, _ uplink: UplinkCandidate,
        within limit: Duration
    ) {
        lastQuestion += 1
        let id = ReachQuestionID(rawValue: lastQuestion)
        questions[id] = (uplink, question)
        effects.append(.ask(id, order, uplink, within: limit))
    }

    private mutating func handleAnswer(_ id: ReachQuestionID, _ answer: UplinkAnswer) {
        // Late answers count for the budget too.
        if case .source(_, let cost) = answer { budget.spent(bytes: cost, for: .probe) }
        guard let (uplink, question) = questions.removeValue(forKey: id) else { return }
        let heard: ConnectivityCheck.Answer =
            switch answer {
            case .target(let answer): .target(answer)
            case .source(let finding, _): .source(finding)
            case .gateway(let answers): .gateway(answers)
            }
        step(uplink) { [now] in $0.heard(question, heard, at: now) }
    }

    private mutating func step(
        _ uplink: UplinkCandidate, _ step: (inout ConnectivityCheck) -> ConnectivityCheck.Effect
    ) {
        guard var check = watch(uplink)?.check else { return }
        let effect = step(&check)
        change(uplink) { $0.check = check }
        switch effect {
        case .ask(let questions): ask(questions, uplink)
        case .over: conclude(uplink, check.findings)
        }
    }

    private mutating func conclude(_ uplink: UplinkCandidate, _ findings: ReachFindings) {
        cancelQuestions(of: uplink)
        if watch(uplink)?.keepsConnections == false { effects.append(.close(uplink)) }
        let verdict = ReachVerdict(findings, required: required)
        let allowed = budget.next(for: .probe, at: now)
        change(uplink) { [now] watch in
            watch.check = nil
            guard let result = verdict.result else {
                // The budget is used up: the last verdict stays valid.
                watch.due = max(allowed, now + UplinkJudgement.recheck)
                return
            }
            let problem = result == .online ? nil : verdict.problem ?? .timedOut
            watch.due = now + watch.judgement.record(problem, at: now)
        }
    }

    private mutating func cancelQuestions(of uplink: UplinkCandidate) {
        let ids = questions.filter { $0.value.uplink == uplink }.map(\.key).sorted { $0.rawValue < $1.rawValue }
        guard !ids.isEmpty else { return }
        for id in ids { questions[id] = nil }
        effects.append(.cancel(ids))
    }

    private func watch(_ uplink: UplinkCandidate) -> Watch? { watches.first { $0.uplink == uplink } }

    private mutating func change(_ uplink: UplinkCandidate, _ change: (inout Watch) -> Void) {
        guard let index = watches.firstIndex(where: { $0.uplink == uplink }) else { return }
        change(&watches[index])
    }
}

package enum UplinkValidationEvent: Sendable {
    /// Check these uplinks from now on, and no others. `lost` names the earlier ones whose link is gone.
    case follow([UplinkCandidate], lost: [UplinkCandidate] = [])
    case answer(ReachQuestionID, UplinkAnswer)
    case timer
    /// A target's connection through the uplink was lost.
    case targetDoubted(UplinkCandidate)
    /// The targets or the required level have changed.
    case retargeted(required: ReachLevel, targets: [String])
}

package enum UplinkAnswer: Sendable {
    case target(ReachFindings.Answer)
    /// Result of the validation source. `cost` is in bytes.
    case source(ValidationFinding, cost: Int)
    /// Whether the gateway answers; also true without a gateway.
    case gateway(Bool)
}

package enum UplinkEffect: Sendable {
    /// Open connections to the targets through the uplink, instead of earlier ones.
    case open(UplinkCandidate)
    case close(UplinkCandidate)
    case ask(ReachQuestionID, ReachQuestion, UplinkCandidate, within: Duration)
    /// Cancel these questions. Their cost still counts.
    case cancel([ReachQuestionID])
    /// The verdicts have changed.
    case judged([UplinkCandidate: UplinkVerdict])
}
