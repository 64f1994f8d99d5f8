import AgentModel
import AppProtocol

/// The sign-in at one network after the other, by any provider that can: it decides, and its caller carries out
/// the actions.
struct SignIn: Sendable {
    typealias ConnectionID = Int

    enum Input: Sendable {
        case captive(CaptiveNetwork, NetworkName)
        case online(CaptiveNetwork, NetworkName)
        /// The session ends soon, and may be extended.
        case ending(CaptiveNetwork, NetworkName)
        case left
        /// The agent is about to leave the network on purpose.
        case logOff
        case listed(ConnectionID, ProviderList)
        case answered(ConnectionID, ProviderAnswer)
        /// The connection has ended with it.
        case failed(ConnectionID, ProviderFault)
        case person(PortalAnswer)
        /// These providers are not asked anything from now on, and all others are.
        case switchedOff(Set<String>)
        /// A deadline may have come.
        case timePassed
    }

    enum Action: Sendable, Equatable {
        case list(ConnectionID)
        /// A new connection, with its first question.
        case open(ConnectionID, provider: String, ProviderRequest.Content)
        /// The next question of a connection.
        case ask(ConnectionID, ProviderRequest.Content)
        case end(ConnectionID)
    }

    enum Phase: Sendable {
        case inactive
        case listing(ConnectionID, until: Instant)
        case evaluating(Evaluation)
        case authenticating(Attempt, until: Instant)
        case presentingUI(Attempt, PortalRequest, until: Instant)
        case authenticated(Session)
        case maintaining(Session, ConnectionID, until: Instant)
        case loggingOff(ConnectionID, until: Instant)
        /// No provider could sign in: it is tried again then.
        case waiting(until: Instant)
        /// Until the network is left: the user did not want to, or the device has logged off.
        case resting
    }

    struct Evaluation: Sendable {
        struct Question: Sendable {
            let connection: ConnectionID
            let provider: String
            let until: Instant
        }

        var asked: [Question] = []
        var waiting: [String]
        var claims: [(provider: String, confidence: Confidence)] = []
    }

    struct Attempt: Sendable {
        let connection: ConnectionID
        let provider: String
        var dialogues = 0
    }

    struct Session: Sendable {
        let provider: String
        let token: Secret?
        let start: Instant
        var isConfirmed = false
        var maintainAt: Instant
        /// How often in a row it could not be maintained.
        var failures = 0
    }

    /// The session at a network that the device has lost: it may come back, and is signed in still.
    struct HeldSession: Sendable {
        let network: CaptiveNetwork
        let session: Session
        let since: Instant
    }

    /// One try of all who can, each once.
    struct Round: Sendable {
        /// The providers to try next.
        var line: [String] = []
        var tried: Set<String> = []
        var isEvaluated = false
        /// Whether to try again soon makes sense.
        var isTemporary = false
        /// The shortest time after which a provider wants to be tried again.
        var retryAfter: Duration?
    }

    let settings: HotspotSettings
    var phase = Phase.inactive
    var network: (facts: CaptiveNetwork, name: NetworkName)?
    var round = Round()
    /// Rounds in a row in which no provider signed in.
    var failedRounds = 0
    var problem: String?
    var remembered: RememberedProviders
    /// Providers that are not asked.
    var switchedOff: Set<String> = []
    /// The latest is last.
    var held: [HeldSession] = []
    private var lastConversation = 0
    private var lastRequest: Int
    private var actions: [Action] = []

    /// - Parameter firstRequest: the number of the first question to a user: another one after each start, so that an
    ///   answer to a question from before it is none.
    init(
        settings: HotspotSettings = HotspotSettings(), remembering entries: [RememberedProvider] = [],
        firstRequest: Int = 1
    ) {
        self.settings = settings
        lastRequest = firstRequest - 1
        remembered = RememberedProviders(entries, limit: settings.rememberedNetworks)
    }

    mutating func handle(_ input: Input, at now: Instant) -> [Action] {
        switch input {
        case .captive(let facts, let name): captiveFound(facts, name, now)
        case .online(let facts, let name): onlineFound(facts, name, now)
        case .ending(let facts, let name): sessionEnds(facts, name, now)
        case .left: leave(now)
        case .logOff: logOff(now)
        case .listed(let connection, let list): listed(connection, list, now)
        case .answered(let connection, let answer): answered(connection, answer, now)
        case .failed(let connection, let fault): failed(connection, fault, now)
        case .person(let answer): personAnswered(answer, now)
        case .switchedOff(let providers): switchOff(providers, now)
        case .timePassed: timePassed(now)
        }
        defer { actions = [] }
        return actions
    }

    // MARK: Helpers

    mutating func act(_ action: Action) { actions.append(action) }

    mutating func nextConnection() -> ConnectionID {
        lastConversation += 1
        return lastConversation
    }

    mutating func nextRequest() -> Int {
        lastRequest += 1
        return lastRequest
    }

    mutating func open(_ provider: String, _ content: ProviderRequest.Content) -> ConnectionID {
        let connection = nextConnection()
        act(.open(connection, provider: provider, content))
        return connection
    }

    mutating func note(_ provider: String, _ complaint: String) { problem = "\(provider): \(complaint)" }
}

// Findings of the agent about the network.

extension SignIn {
    mutating func captiveFound(_ facts: CaptiveNetwork, _ name: NetworkName, _ now: Instant) {
        if let network, !network.facts.isSame(as: facts) { leave(now) }
        network = (facts, name)
        // Whatever signed in there is signed out by now.
        held.removeAll { $0.network.isSame(as: facts) }
        switch phase {
        case .inactive: startRound(now)
        case .authenticated(let session): lost(session, now)
        case .maintaining(let session, let connection, _):
            act(.end(connection))
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

    mutating func onlineFound(_ facts: CaptiveNetwork, _ name: NetworkName, _ now: Instant) {
        if let network, !network.facts.isSame(as: facts) { leave(now) }
        switch phase {
        case .authenticated(var session):
            confirm(&session)
            phase = .authenticated(session)
        case .maintaining(var session, let connection, let until):
            confirm(&session)
            phase = .maintaining(session, connection, until: until)
        case .listing, .evaluating, .presentingUI, .waiting:
            // The network was opened by other means.
            endConversations()
            phase = .inactive
        // The provider may be about to say that this is its work.
        case .authenticating: break
        case .inactive: goOn(facts, name, now)
        case .loggingOff, .resting: break
        }
    }

    /// The device is back in a network that it had lost, and is signed in still.
    private mutating func goOn(_ facts: CaptiveNetwork, _ name: NetworkName, _ now: Instant) {
        guard let index = held.firstIndex(where: { $0.network.isSame(as: facts) }) else { return }
        let back = held.remove(at: index)
        guard now - back.since <= settings.heldFor else { return }
        network = (facts, name)
        phase = .authenticated(back.session)
    }

    /// Keeps the session for when the device comes back.
    private mutating func hold(_ now: Instant) {
        guard let network else { return }
        var session: Session
        switch phase {
        case .authenticated(let current): session = current
        case .maintaining(let current, _, _):
            session = current
            // It was not done yet.
            session.maintainAt = now
        case .inactive, .listing, .evaluating, .authenticating, .presentingUI, .loggingOff, .waiting, .resting: return
        }
        guard session.isConfirmed else { return }
        held.append(HeldSession(network: network.facts, session: session, since: now))
        if held.count > settings.heldSessions { held.removeFirst(held.count - settings.heldSessions) }
    }

    /// The provider that signed in maintains the session now, before its time.
    mutating func sessionEnds(_ facts: CaptiveNetwork, _ name: NetworkName, _ now: Instant) {
        guard case .authenticated(let session) = phase, session.isConfirmed, let network,
            network.facts.isSame(as: facts)
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

    mutating func leave(_ now: Instant) {
        hold(now)
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
        let connection = open(session.provider, .logoff(network.facts, session: session.token))
        phase = .loggingOff(connection, until: now + settings.logoffLimit)
    }

    mutating func switchOff(_ providers: Set<String>, _ now: Instant) {
        let isMore = !switchedOff.isSubset(of: providers)
        switchedOff = providers
        held.removeAll { providers.contains($0.session.provider) }
        round.line.removeAll(where: providers.contains)
        switch phase {
        case .evaluating(var evaluation):
            for question in evaluation.asked where providers.contains(question.provider) {
                act(.end(question.connection))
            }
            evaluation.asked.removeAll { providers.contains($0.provider) }
            evaluation.waiting.removeAll(where: providers.contains)
            evaluation.claims.removeAll { providers.contains($0.provider) }
            evaluate(evaluation, now)
        case .authenticating(let attempt, _) where providers.contains(attempt.provider),
            .presentingUI(let attempt, _, _) where providers.contains(attempt.provider):
            act(.end(attempt.connection))
            note(attempt.provider, "it was switched off")
            tryNext(now)
        // What it has opened stays open for as long as the network likes.
        case .authenticated(let session) where providers.contains(session.provider),
            .maintaining(let session, _, _) where providers.contains(session.provider):
            endConversations()
            phase = .inactive
        // One that is there again may be the one that can.
        case .waiting where isMore: startRound(now)
        case .inactive, .listing, .authenticating, .presentingUI, .authenticated, .maintaining, .loggingOff, .waiting,
            .resting:
            break
        }
    }

    /// Ends whatever is being talked about now.
    private mutating func endConversations() {
        switch phase {
        case .listing(let connection, _), .maintaining(_, let connection, _), .loggingOff(let connection, _):
            act(.end(connection))
        case .evaluating(let evaluation): for question in evaluation.asked { act(.end(question.connection)) }
        case .authenticating(let attempt, _), .presentingUI(let attempt, _, _): act(.end(attempt.connection))
        case .inactive, .authenticated, .waiting, .resting: break
        }
    }
}

extension SignIn {
    /// When something has to be done by itself.
    var deadline: Instant? {
        switch phase {
        case .inactive, .resting: nil
        case .listing(_, let until), .authenticating(_, let until), .presentingUI(_, _, let until),
            .maintaining(_, _, let until), .loggingOff(_, let until), .waiting(let until):
            until
        case .evaluating(let evaluation): evaluation.asked.map(\.until).min()
        case .authenticated(let session): session.maintainAt
        }
    }

    var isLoggingOff: Bool {
        if case .loggingOff = phase { true } else { false }
    }

    var status: HotspotStatus {
        var status = HotspotStatus()
        status.portal = Portal(
            url: network.flatMap { $0.facts.api?.userPortal ?? $0.facts.portal }, state: portalState, provider: provider
        )
        if case .presentingUI(_, let request, _) = phase { status.request = request }
        if case .waiting(let until) = phase { status.retryAt = until }
        status.signingInUntil = signingInUntil
        status.isTryingWhereCaptive = isTryingWhereCaptive
        status.problem = problem
        return status
    }

    private var isTryingWhereCaptive: Bool {
        switch phase {
        case .inactive, .listing, .evaluating, .authenticating, .authenticated, .maintaining: true
        case .presentingUI, .loggingOff, .waiting, .resting: false
        }
    }

    private var portalState: Portal.State {
        switch phase {
        case .inactive, .loggingOff, .waiting, .resting: .inactive
        case .listing, .evaluating: .evaluating
        case .authenticating: .authenticating
        case .presentingUI: .presentingUI
        case .authenticated: .authenticated
        case .maintaining: .maintaining
        }
    }

    private var provider: String? {
        switch phase {
        case .inactive, .loggingOff, .waiting, .resting, .listing, .evaluating: nil
        case .authenticating(let attempt, _), .presentingUI(let attempt, _, _): attempt.provider
        case .authenticated(let session), .maintaining(let session, _, _): session.provider
        }
    }

    private var signingInUntil: Instant? {
        switch phase {
        case .inactive, .maintaining, .loggingOff, .waiting, .resting: nil
        case .listing(_, let until), .authenticating(_, let until), .presentingUI(_, _, let until):
            until + settings.handover
        case .evaluating(let evaluation): evaluation.asked.map(\.until).max().map { $0 + settings.handover }
        case .authenticated(let session): session.isConfirmed ? nil : session.start + settings.confirmLimit
        }
    }
}
