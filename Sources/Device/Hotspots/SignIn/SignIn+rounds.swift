import AgentModel
import AppProtocol

// A round tries the suitable providers, best first, until one signs in.

extension SignIn {
    mutating func startRound(_ now: Instant) {
        guard let network else { return }
        round = Round()
        if let provider = remembered.provider(of: network.facts), !switchedOff.contains(provider) {
            attempt(provider, now)
        } else {
            list(now)
        }
    }

    private mutating func list(_ now: Instant) {
        let connection = nextConnection()
        emit(.list(connection))
        phase = .listing(connection, until: now + settings.evaluateLimit)
    }

    mutating func listed(_ connection: ConnectionID, _ list: ProviderList, _ now: Instant) {
        guard case .listing(connection, _) = phase else { return }
        let names = list.names.filter { !round.tried.contains($0) && !switchedOff.contains($0) }
        if finding == .captive, switchedOff.isSuperset(of: list.names) {
            problem = list.names.isEmpty ? "there are no providers" : "all providers are switched off"
        }
        evaluate(Evaluation(waiting: names), now)
    }

    /// Evaluates up to `parallel` providers at a time, then starts with the best.
    mutating func evaluate(_ evaluation: Evaluation, _ now: Instant) {
        guard let network else { return }
        var evaluation = evaluation
        while evaluation.asked.count < max(settings.parallel, 1), !evaluation.waiting.isEmpty {
            let provider = evaluation.waiting.removeFirst()
            evaluation.asked.append(
                Question(
                    connection: open(provider, .evaluate(network.facts)), provider: provider,
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

    /// Tries the next provider. If none is left, evaluates all providers, or ends the round if that was done.
    mutating func tryNext(_ now: Instant) {
        if !round.line.isEmpty {
            attempt(round.line.removeFirst(), now)
        } else if !round.isEvaluated {
            list(now)
        } else {
            endRound(now)
        }
    }

    mutating func endRound(_ now: Instant) {
        guard finding != .online || round.isTemporary else {
            phase = .waiting(until: nil)
            return
        }
        failedRounds += 1
        let usual = round.isTemporary ? settings.waits.wait(after: failedRounds - 1) : settings.waits.last
        let wait = min(max(usual, round.retryAfter ?? .zero), settings.waits.last)
        phase = .waiting(until: now + wait)
    }

    /// Asks the provider to sign in. If the network is online, first asks whether an earlier sign-in still holds.
    private mutating func attempt(_ provider: String, _ now: Instant) {
        guard finding == .online, let network else {
            authenticate(provider, now)
            return
        }
        round.tried.insert(provider)
        let connection = open(provider, .maintain(network.facts, session: nil))
        phase = .authenticating(
            Attempt(connection: connection, provider: provider, isResuming: true), until: now + settings.maintainLimit)
    }

    mutating func authenticate(_ provider: String, _ now: Instant) {
        guard let network else { return }
        round.tried.insert(provider)
        let connection = open(provider, .authenticate(network.facts))
        phase = .authenticating(
            Attempt(connection: connection, provider: provider), until: now + settings.authenticateLimit)
    }

    mutating func handleAnswer(_ attempt: Attempt, _ result: SignInResult, _ now: Instant) {
        switch result {
        case .success(let maintainIn, let token):
            emit(.end(attempt.connection))
            phase = .authenticated(
                Session(
                    provider: attempt.provider, token: token, start: now,
                    maintainAt: now + maintainInterval(maintainIn)))
        case .uiRequired(let dialogue?): present(dialogue, attempt, now)
        case .uiRequired(nil):
            guard let network else { return }
            emit(.ask(attempt.connection, .presentUI(network.facts)))
            phase = .authenticating(attempt, until: now + settings.authenticateLimit)
        case .temporaryFailure(let seconds):
            emit(.end(attempt.connection))
            reportProblem(attempt.provider, "it cannot sign in now")
            if let seconds { round.retryAfter = min(round.retryAfter ?? .seconds(seconds), .seconds(seconds)) }
            round.isTemporary = true
            tryNext(now)
        case .failure(let reason):
            emit(.end(attempt.connection))
            reportProblem(attempt.provider, reason.shortened)
            tryNext(now)
        }
    }

    private mutating func present(_ dialogue: Dialogue, _ attempt: Attempt, _ now: Instant) {
        guard attempt.dialogues < settings.dialogues, let network else {
            emit(.end(attempt.connection))
            attemptFailed(attempt, "it asks too many questions", now)
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
            emit(.end(attempt.connection))
            reportProblem(attempt.provider, "the user cancelled the sign-in")
            phase = .resting
            return
        }
        finish(attempt, values, now)
    }

    /// Reports to the provider that the user has finished.
    mutating func finish(_ attempt: Attempt, _ values: [String: Secret], _ now: Instant) {
        emit(.ask(attempt.connection, .answer(values)))
        phase = .authenticating(attempt, until: now + settings.authenticateLimit)
    }

    /// Handles a provider that crashed, timed out or sent a malformed answer.
    mutating func attemptFailed(_ attempt: Attempt, _ complaint: String, _ now: Instant) {
        reportProblem(attempt.provider, complaint)
        round.isTemporary = true
        tryNext(now)
    }
}

// Answers, failures and time limits of connections.

extension SignIn {
    mutating func handleAnswer(_ connection: ConnectionID, _ answer: ProviderAnswer, _ now: Instant) {
        switch (phase, answer) {
        case (.evaluating(var evaluation), .evaluated(let confidence)):
            guard let question = evaluation.removeQuestion(connection) else { return }
            emit(.end(connection))
            evaluation.claims.append((question.provider, confidence))
            evaluate(evaluation, now)
        case (.authenticating(let attempt, _), .signIn(let result)) where attempt.connection == connection:
            handleAnswer(attempt, result, now)
        case (.authenticating(let attempt, _), .presents(let dialogue)) where attempt.connection == connection:
            present(dialogue, attempt, now)
        case (.authenticating(let attempt, _), .maintained(let result))
        where attempt.connection == connection && attempt.isResuming:
            emit(.end(connection))
            resumed(attempt, result, now)
        case (.maintaining(var session, let asked), .maintained(let result)) where asked?.connection == connection:
            emit(.end(connection))
            switch result {
            case .success(let next):
                session.failures = 0
                session.maintainAt = now + maintainInterval(next)
                phase = .maintaining(session, asked: nil)
            case .authenticationRequired: renew(session, now)
            }
        case (.loggingOff(connection, _), .loggedOff):
            emit(.end(connection))
            phase = .resting
        default: break
        }
    }

    private mutating func resumed(_ attempt: Attempt, _ result: MaintainResult, _ now: Instant) {
        switch result {
        case .success(let next):
            var session = Session(
                provider: attempt.provider, token: nil, start: now, maintainAt: now + maintainInterval(next))
            confirm(&session)
            phase = .maintaining(session, asked: nil)
        case .authenticationRequired: authenticate(attempt.provider, now)
        }
    }

    mutating func failed(_ connection: ConnectionID, _ fault: ProviderFault, _ now: Instant) {
        switch phase {
        case .listing(connection, _):
            problem = fault.description
            round.isTemporary = true
            round.isEvaluated = true
            tryNext(now)
        case .evaluating(var evaluation):
            guard let question = evaluation.removeQuestion(connection) else { return }
            reportProblem(question.provider, fault.description)
            round.isTemporary = true
            evaluate(evaluation, now)
        case .authenticating(let attempt, _) where attempt.connection == connection,
            .presentingUI(let attempt, _, _) where attempt.connection == connection:
            attemptFailed(attempt, fault.description, now)
        case .maintaining(let session, let asked) where asked?.connection == connection:
            maintainFailed(session, fault, now)
        case .loggingOff(connection, _): phase = .resting
        default: break
        }
    }

    mutating func timePassed(_ now: Instant) {
        guard let deadline, now >= deadline else { return }
        switch phase {
        case .evaluating(let evaluation):
            for question in evaluation.asked where now >= question.until {
                emit(.end(question.connection))
                failed(question.connection, .timedOut, now)
            }
        case .listing(let connection, _), .loggingOff(let connection, _):
            emit(.end(connection))
            failed(connection, .timedOut, now)
        case .maintaining(_, let asked?):
            emit(.end(asked.connection))
            failed(asked.connection, .timedOut, now)
        case .authenticating(let attempt, _):
            emit(.end(attempt.connection))
            failed(attempt.connection, .timedOut, now)
        case .presentingUI(let attempt, _, _):
            emit(.end(attempt.connection))
            attemptFailed(attempt, "the user did not answer in time", now)
        case .authenticated(let session), .maintaining(let session, asked: nil): maintain(session, now)
        case .waiting: startRound(now)
        case .inactive, .resting: break
        }
    }

    mutating func maintain(_ session: Session, _ now: Instant) {
        guard let network else { return }
        let connection = open(session.provider, .maintain(network.facts, session: session.token))
        let asked = Question(connection: connection, provider: session.provider, until: now + settings.maintainLimit)
        phase = .maintaining(session, asked: asked)
    }

    /// Handles a failed maintenance. The network may still be open: the agent's probes decide.
    private mutating func maintainFailed(_ session: Session, _ fault: ProviderFault, _ now: Instant) {
        reportProblem(session.provider, fault.description)
        var session = session
        session.failures += 1
        session.maintainAt = now + settings.waits.wait(after: session.failures - 1)
        phase = .maintaining(session, asked: nil)
    }

    func maintainInterval(_ seconds: Int?) -> Duration {
        seconds.map { max(.seconds($0), settings.shortestMaintainInterval) } ?? settings.maintainInterval
    }
}

extension SignIn.Evaluation {
    fileprivate mutating func removeQuestion(_ connection: SignIn.ConnectionID) -> SignIn.Question? {
        asked.firstIndex { $0.connection == connection }.map { asked.remove(at: $0) }
    }
}
