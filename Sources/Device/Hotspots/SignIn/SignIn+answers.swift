import AgentModel
import AppProtocol

// What comes back from conversations, and what does not.

extension SignIn {
    mutating func answered(_ conversation: Conversation, _ answer: ProviderAnswer, _ now: Instant) {
        switch (phase, answer) {
        case (.evaluating(var evaluation), .evaluated(let confidence)):
            guard let question = evaluation.take(conversation) else { return }
            act(.end(conversation))
            evaluation.claims.append((question.provider, confidence))
            evaluate(evaluation, now)
        case (.authenticating(let attempt, _), .signIn(let result)) where attempt.conversation == conversation:
            answered(attempt, result, now)
        case (.maintaining(var session, conversation, _), .maintained(let result)):
            act(.end(conversation))
            switch result {
            case .success(let next):
                session.failures = 0
                session.maintainAt = now + maintainInterval(next)
                phase = .authenticated(session)
            case .authenticationRequired: renew(session, now)
            }
        case (.loggingOff(conversation, _), .loggedOff):
            act(.end(conversation))
            phase = .resting
        default: break
        }
    }

    mutating func failed(_ conversation: Conversation, _ fault: ProviderFault, _ now: Instant) {
        switch phase {
        case .listing(conversation, _):
            problem = fault.description
            round.isTemporary = true
            round.isEvaluated = true
            tryNext(now)
        case .evaluating(var evaluation):
            guard let question = evaluation.take(conversation) else { return }
            note(question.provider, fault.description)
            round.isTemporary = true
            evaluate(evaluation, now)
        case .authenticating(let attempt, _) where attempt.conversation == conversation,
            .presentingUI(let attempt, _, _) where attempt.conversation == conversation:
            attemptFailed(attempt, fault.description, now)
        case .maintaining(let session, conversation, _): maintainFailed(session, fault, now)
        case .loggingOff(conversation, _): phase = .resting
        default: break
        }
    }

    mutating func timePassed(_ now: Instant) {
        guard let deadline, now >= deadline else { return }
        switch phase {
        case .evaluating(let evaluation):
            for question in evaluation.asked where now >= question.until {
                act(.end(question.conversation))
                failed(question.conversation, .timedOut, now)
            }
        case .listing(let conversation, _), .maintaining(_, let conversation, _), .loggingOff(let conversation, _):
            act(.end(conversation))
            failed(conversation, .timedOut, now)
        case .authenticating(let attempt, _):
            act(.end(attempt.conversation))
            failed(attempt.conversation, .timedOut, now)
        case .presentingUI(let attempt, _, _):
            act(.end(attempt.conversation))
            attemptFailed(attempt, "nobody answered in time", now)
        case .authenticated(let session): maintain(session, now)
        case .waiting: startRound(now)
        case .inactive, .resting: break
        }
    }

    mutating func maintain(_ session: Session, _ now: Instant) {
        guard let network else { return }
        let conversation = open(session.provider, .maintain(network.facts, session: session.token))
        phase = .maintaining(session, conversation, until: now + settings.maintainLimit)
    }

    /// The network may well be open still: the agent's own probes tell.
    private mutating func maintainFailed(_ session: Session, _ fault: ProviderFault, _ now: Instant) {
        note(session.provider, fault.description)
        var session = session
        session.failures += 1
        session.maintainAt = now + settings.waits.wait(after: session.failures - 1)
        phase = .authenticated(session)
    }

    func maintainInterval(_ seconds: Int?) -> Duration {
        seconds.map { max(.seconds($0), settings.shortestMaintainInterval) } ?? settings.maintainInterval
    }
}

extension SignIn.Evaluation {
    /// Removes the question that this conversation is about.
    fileprivate mutating func take(_ conversation: SignIn.Conversation) -> Question? {
        asked.firstIndex { $0.conversation == conversation }.map { asked.remove(at: $0) }
    }
}
