import AgentModel
import AppProtocol

// A round: who can sign in, best first, until one has.

extension SignIn {
    mutating func startRound(_ now: Instant) {
        guard let network else { return }
        round = Round()
        if let provider = remembered.provider(of: network.facts) {
            authenticate(provider, now)
        } else {
            list(now)
        }
    }

    private mutating func list(_ now: Instant) {
        let conversation = nextConversation()
        act(.list(conversation))
        phase = .listing(conversation, until: now + settings.evaluateLimit)
    }

    mutating func listed(_ conversation: Conversation, _ list: ProviderList, _ now: Instant) {
        guard case .listing(conversation, _) = phase else { return }
        let names = list.names.filter { !round.tried.contains($0) }
        if list.names.isEmpty { problem = "there are no providers" }
        evaluate(Evaluation(waiting: names), now)
    }

    /// Asks as many at a time as may be asked, and goes on when all have been.
    mutating func evaluate(_ evaluation: Evaluation, _ now: Instant) {
        guard let network else { return }
        var evaluation = evaluation
        while evaluation.asked.count < max(settings.parallel, 1), !evaluation.waiting.isEmpty {
            let provider = evaluation.waiting.removeFirst()
            evaluation.asked.append(
                Evaluation.Question(
                    conversation: open(provider, .evaluate(network.facts)), provider: provider,
                    until: now + settings.evaluateLimit))
        }
        guard evaluation.asked.isEmpty else {
            phase = .evaluating(evaluation)
            return
        }
        round.isEvaluated = true
        round.line = evaluation.claims.filter { $0.confidence > .none }
            .sorted { ($1.confidence, $0.provider) < ($0.confidence, $1.provider) }.map(\.provider)
        tryNext(now)
    }

    /// The next one in line; all, where only the one remembered was tried yet; nobody, for a while.
    mutating func tryNext(_ now: Instant) {
        if !round.line.isEmpty {
            authenticate(round.line.removeFirst(), now)
        } else if !round.isEvaluated {
            list(now)
        } else {
            endRound(now)
        }
    }

    mutating func endRound(_ now: Instant) {
        failedRounds += 1
        let usual = round.isTemporary ? settings.waits.wait(after: failedRounds - 1) : settings.waits.last
        let wait = min(max(usual, round.retryAfter ?? .zero), settings.waits.last)
        phase = .waiting(until: now + wait)
    }

    mutating func authenticate(_ provider: String, _ now: Instant) {
        guard let network else { return }
        round.tried.insert(provider)
        let conversation = open(provider, .authenticate(network.facts))
        phase = .authenticating(
            Attempt(conversation: conversation, provider: provider), until: now + settings.authenticateLimit)
    }

    mutating func answered(_ attempt: Attempt, _ result: SignInResult, _ now: Instant) {
        switch result {
        case .success(let maintainIn, let token):
            act(.end(attempt.conversation))
            phase = .authenticated(
                Session(
                    provider: attempt.provider, token: token, start: now,
                    maintainAt: now + maintainInterval(maintainIn)))
        case .uiRequired(let dialogue): present(dialogue, attempt, now)
        case .temporaryFailure(let seconds):
            act(.end(attempt.conversation))
            note(attempt.provider, "it cannot sign in now")
            if let seconds { round.retryAfter = min(round.retryAfter ?? .seconds(seconds), .seconds(seconds)) }
            round.isTemporary = true
            tryNext(now)
        case .failure(let reason):
            act(.end(attempt.conversation))
            note(attempt.provider, reason.shortened)
            tryNext(now)
        }
    }

    private mutating func present(_ dialogue: Dialogue, _ attempt: Attempt, _ now: Instant) {
        guard attempt.dialogues < settings.dialogues, let network else {
            act(.end(attempt.conversation))
            attemptFailed(attempt, "it asks and asks", now)
            return
        }
        var attempt = attempt
        attempt.dialogues += 1
        let request = PortalRequest(
            id: nextRequest(), provider: attempt.provider, network: network.name, title: dialogue.title,
            message: dialogue.message, url: dialogue.url, fields: dialogue.fields)
        phase = .presentingUI(attempt, request, until: now + settings.personLimit)
    }

    mutating func personAnswered(_ answer: PortalAnswer, _ now: Instant) {
        guard case .presentingUI(let attempt, let request, _) = phase, request.id == answer.id else { return }
        guard let values = answer.values else {
            act(.end(attempt.conversation))
            note(attempt.provider, "the person does not want to sign in")
            phase = .resting
            return
        }
        act(.ask(attempt.conversation, .answer(values)))
        phase = .authenticating(attempt, until: now + settings.authenticateLimit)
    }

    /// It crashed, was silent, or wrote what is no answer; the conversation has ended.
    mutating func attemptFailed(_ attempt: Attempt, _ complaint: String, _ now: Instant) {
        note(attempt.provider, complaint)
        round.isTemporary = true
        tryNext(now)
    }
}
