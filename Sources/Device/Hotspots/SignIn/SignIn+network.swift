import AgentModel
import AppProtocol

// What the agent finds out about the network.

extension SignIn {
    mutating func captiveFound(_ facts: CaptiveNetwork, _ name: NetworkName, _ now: Instant) {
        if let network, network.facts.ssid != facts.ssid || network.facts.security != facts.security { leave() }
        network = (facts, name)
        switch phase {
        case .inactive: startRound(now)
        case .authenticated(let session): lost(session, now)
        case .maintaining(let session, let conversation, _):
            act(.end(conversation))
            lost(session, now)
        case .listing, .evaluating, .authenticating, .presentingUI, .loggingOff, .waiting, .resting: break
        }
    }

    /// The network is closed although the provider said that it had signed in.
    private mutating func lost(_ session: Session, _ now: Instant) {
        guard session.isConfirmed else {
            sessionFailed(session, "it says that it has signed in, and the network stays closed", now)
            return
        }
        renew(session, now)
    }

    /// The session is over: the same provider signs in again, unless it was a short one.
    mutating func renew(_ session: Session, _ now: Instant) {
        guard now - session.start >= settings.waits.first else {
            sessionFailed(session, "its sign-in lasts only \((now - session.start).milliseconds) ms", now)
            return
        }
        round = Round()
        authenticate(session.provider, now)
    }

    /// The next one in the line that the session came from.
    private mutating func sessionFailed(_ session: Session, _ complaint: String, _ now: Instant) {
        note(session.provider, complaint)
        if let network { remembered.forget(network.facts) }
        round.isTemporary = true
        tryNext(now)
    }

    mutating func onlineFound() {
        switch phase {
        case .authenticated(var session):
            confirm(&session)
            phase = .authenticated(session)
        case .maintaining(var session, let conversation, let until):
            confirm(&session)
            phase = .maintaining(session, conversation, until: until)
        case .listing, .evaluating, .presentingUI, .waiting:
            // Somebody else opened the network.
            endConversations()
            phase = .inactive
        // The provider may be about to say that this is its work.
        case .authenticating: break
        case .inactive, .loggingOff, .resting: break
        }
    }

    /// Whoever signed in keeps it up now, and not when it would be its time.
    mutating func sessionEnds(_ facts: CaptiveNetwork, _ name: NetworkName, _ now: Instant) {
        guard case .authenticated(let session) = phase, session.isConfirmed, let network,
            network.facts.ssid == facts.ssid, network.facts.security == facts.security
        else { return }
        self.network = (facts, name)
        maintain(session, now)
    }

    private mutating func confirm(_ session: inout Session) {
        guard !session.isConfirmed, let network else { return }
        session.isConfirmed = true
        failedRounds = 0
        problem = nil
        remembered.remember(session.provider, for: network.facts)
    }

    mutating func leave() {
        endConversations()
        phase = .inactive
        network = nil
        round = Round()
        failedRounds = 0
        problem = nil
    }

    mutating func logOff(_ now: Instant) {
        let session: Session
        switch phase {
        case .authenticated(let current), .maintaining(let current, _, _): session = current
        case .inactive, .listing, .evaluating, .authenticating, .presentingUI, .loggingOff, .waiting, .resting: return
        }
        guard let network else { return }
        endConversations()
        let conversation = open(session.provider, .logoff(network.facts, session: session.token))
        phase = .loggingOff(conversation, until: now + settings.logoffLimit)
    }

    /// Ends whatever is being talked about now.
    private mutating func endConversations() {
        switch phase {
        case .listing(let conversation, _), .maintaining(_, let conversation, _), .loggingOff(let conversation, _):
            act(.end(conversation))
        case .evaluating(let evaluation): for question in evaluation.asked { act(.end(question.conversation)) }
        case .authenticating(let attempt, _), .presentingUI(let attempt, _, _): act(.end(attempt.conversation))
        case .inactive, .authenticated, .waiting, .resting: break
        }
    }
}
