import AgentModel
import AppProtocol

/// Decides when and how to sign in to the current network. The caller performs the effects.
struct SignIn: Sendable {
    typealias ConnectionID = Int

    enum Event: Sendable {
        case captive(JoinedNetwork, NetworkName)
        case online(JoinedNetwork, NetworkName)
        /// A check found neither a portal nor internet access.
        case offline(JoinedNetwork, NetworkName)
        case ending(JoinedNetwork, NetworkName)
        case left
        case logOff
        case listed(ConnectionID, ProviderList)
        case answer(ConnectionID, ProviderAnswer)
        /// The connection has ended, too.
        case failed(ConnectionID, ProviderFault)
        case person(PortalAnswer)
        /// All disabled providers.
        case switchedOff(Set<String>)
        case timePassed
    }

    enum Effect: Sendable, Equatable {
        case list(ConnectionID)
        case open(ConnectionID, provider: String, ProviderRequest.Content)
        case ask(ConnectionID, ProviderRequest.Content)
        case end(ConnectionID)
    }

    enum Phase: Sendable {
        case inactive
        case listing(ConnectionID, until: Instant)
        case evaluating(Evaluation)
        case authenticating(Attempt, until: Instant)
        case presentingUI(Attempt, PortalRequest, until: Instant)
        /// The provider reports success. A check must confirm it.
        case authenticated(Session)
        /// The provider keeps the network signed in. `asked` is the pending request; nil between requests.
        case maintaining(Session, asked: Question?)
        case loggingOff(ConnectionID, until: Instant)
        /// No provider claims the network, or all failed. The next round starts at `until`; if nil, only when the
        /// network becomes captive or a provider is enabled.
        case waiting(until: Instant?)
        /// Attempts in this network have ended, because the user refused or the device has logged off.
        case resting
    }

    /// Result of the agent's last check of the network.
    enum Finding: Sendable {
        case captive, online, offline
    }

    struct Question: Sendable {
        let connection: ConnectionID
        let provider: String
        let until: Instant
    }

    struct Evaluation: Sendable {
        var asked: [Question] = []
        var waiting: [String]
        var claims: [(provider: String, confidence: Confidence)] = []
    }

    struct Attempt: Sendable {
        let connection: ConnectionID
        let provider: String
        /// True while the provider is asked whether an earlier sign-in still holds.
        var isResuming = false
        var dialogues = 0
    }

    struct Session: Sendable {
        let provider: String
        let token: Secret?
        let start: Instant
        var isConfirmed = false
        var maintainAt: Instant
        /// Consecutive failures of maintenance.
        var failures = 0
    }

    /// Session of a lost network, kept because the device may come back.
    struct HeldSession: Sendable {
        let network: JoinedNetwork
        let session: Session
        let since: Instant
    }

    struct Round: Sendable {
        var line: [String] = []
        var tried: Set<String> = []
        var isEvaluated = false
        /// True if an early retry makes sense.
        var isTemporary = false
        /// Shortest retry time that a provider has requested.
        var retryAfter: Duration?
    }

    let settings: HotspotSettings
    var phase = Phase.inactive
    var network: (facts: JoinedNetwork, name: NetworkName)?
    var finding = Finding.captive
    var round = Round()
    /// Consecutive rounds without a sign-in.
    var failedRounds = 0
    var problem: String?
    var remembered: RememberedProviders
    /// Disabled providers.
    var switchedOff: Set<String> = []
    /// Held sessions, the latest one last.
    var held: [HeldSession] = []
    private var lastConversation = 0
    private var lastRequest: Int
    private var effects: [Effect] = []

    /// - Parameter firstRequest: first question number, random so that answers from before a restart are refused.
    init(
        settings: HotspotSettings = HotspotSettings(), remembering entries: [RememberedProvider] = [],
        firstRequest: Int = 1
    ) {
        self.settings = settings
        lastRequest = firstRequest - 1
        remembered = RememberedProviders(entries, limit: settings.rememberedNetworks)
    }

    mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        switch event {
        case .captive(let facts, let name): captiveFound(facts, name, now)
        case .online(let facts, let name): onlineFound(facts, name, now)
        case .offline(let facts, let name): offlineFound(facts, name, now)
        case .ending(let facts, let name): sessionEnds(facts, name, now)
        case .left: leave(now)
        case .logOff: logOff(now)
        case .listed(let connection, let list): listed(connection, list, now)
        case .answer(let connection, let answer): handleAnswer(connection, answer, now)
        case .failed(let connection, let fault): failed(connection, fault, now)
        case .person(let answer): personAnswered(answer, now)
        case .switchedOff(let providers): switchOff(providers, now)
        case .timePassed: timePassed(now)
        }
        defer { effects = [] }
        return effects
    }

    // MARK: Helpers

    mutating func emit(_ effect: Effect) { effects.append(effect) }

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
        emit(.open(connection, provider: provider, content))
        return connection
    }

    mutating func reportProblem(_ provider: String, _ complaint: String) { problem = "\(provider): \(complaint)" }
}

// The agent's findings about the network.

extension SignIn {
    mutating func captiveFound(_ facts: JoinedNetwork, _ name: NetworkName, _ now: Instant) {
        if let network, !network.facts.isSame(as: facts) { leave(now) }
        network = (facts, name)
        if finding != .captive { endOutdatedRound() }
        finding = .captive
        // The earlier sessions of a captive network have ended.
        held.removeAll { $0.network.isSame(as: facts) }
        switch phase {
        case .inactive: startRound(now)
        case .authenticated(let session): lost(session, now)
        case .maintaining(let session, let asked):
            if let asked { emit(.end(asked.connection)) }
            lost(session, now)
        case .listing, .evaluating, .authenticating, .presentingUI, .loggingOff, .waiting, .resting: break
        }
    }

    /// Ends a round that a new finding makes pointless. A sign-in continues.
    private mutating func endOutdatedRound() {
        switch phase {
        case .listing, .evaluating, .waiting: break
        case .authenticating(let attempt, _) where attempt.isResuming: break
        case .inactive, .authenticating, .presentingUI, .authenticated, .maintaining, .loggingOff, .resting: return
        }
        endConversations()
        phase = .inactive
    }

    /// Handles a network that is captive although the provider reported success.
    private mutating func lost(_ session: Session, _ now: Instant) {
        guard session.isConfirmed else {
            sessionFailed(session, "it reported success, but the network stays closed", now)
            return
        }
        renew(session, now)
    }

    /// Signs in again with the same provider, unless the session was too short to count.
    mutating func renew(_ session: Session, _ now: Instant) {
        guard now - session.start >= settings.waits.first else {
            sessionFailed(session, "its sign-in lasted only \((now - session.start).milliseconds) ms", now)
            return
        }
        round = Round()
        authenticate(session.provider, now)
    }

    private mutating func sessionFailed(_ session: Session, _ complaint: String, _ now: Instant) {
        reportProblem(session.provider, complaint)
        if let network { remembered.forget(network.facts) }
        round.isTemporary = true
        tryNext(now)
    }

    mutating func onlineFound(_ facts: JoinedNetwork, _ name: NetworkName, _ now: Instant) {
        if let network, !network.facts.isSame(as: facts) { leave(now) }
        let hasOpened = finding != .online
        if hasOpened { endOutdatedRound() }
        finding = .online
        switch phase {
        case .authenticated(var session):
            confirm(&session)
            phase = .maintaining(session, asked: nil)
        case .maintaining(var session, let asked):
            confirm(&session)
            phase = .maintaining(session, asked: asked)
        case .presentingUI(let attempt, let request, _) where hasOpened: opened(attempt, request, now)
        case .inactive: goOn(facts, name, now)
        // The provider may be about to report success.
        case .authenticating: break
        case .listing, .evaluating, .presentingUI, .loggingOff, .waiting, .resting: break
        }
    }

    /// Handles a network that has opened during a question to the user.
    private mutating func opened(_ attempt: Attempt, _ request: PortalRequest, _ now: Instant) {
        if request.fields.isEmpty {
            // The user has finished on the web page.
            finish(attempt, [:], now)
        } else {
            emit(.end(attempt.connection))
            startRound(now)
        }
    }

    /// Lets providers evaluate a network without internet access, unless a session of this network is held.
    mutating func offlineFound(_ facts: JoinedNetwork, _ name: NetworkName, _ now: Instant) {
        if let network, !network.facts.isSame(as: facts) { leave(now) }
        let isHeld = held.contains { $0.network.isSame(as: facts) && now - $0.since <= settings.heldFor }
        guard case .inactive = phase, !isHeld else { return }
        network = (facts, name)
        finding = .offline
        startRound(now)
    }

    /// Resumes the session of a network to which the device has returned. Without one, lets providers evaluate the
    /// network.
    private mutating func goOn(_ facts: JoinedNetwork, _ name: NetworkName, _ now: Instant) {
        network = (facts, name)
        let index = held.firstIndex { $0.network.isSame(as: facts) }
        guard let back = index.map({ held.remove(at: $0) }), now - back.since <= settings.heldFor else {
            startRound(now)
            return
        }
        phase = .maintaining(back.session, asked: nil)
    }

    /// Keeps a confirmed session in case the device returns.
    private mutating func hold(_ now: Instant) {
        guard let network else { return }
        var session: Session
        switch phase {
        case .authenticated(let current): session = current
        case .maintaining(let current, let asked):
            session = current
            // The maintenance was not finished, so it is due again.
            if asked != nil { session.maintainAt = now }
        case .inactive, .listing, .evaluating, .authenticating, .presentingUI, .loggingOff, .waiting, .resting: return
        }
        guard session.isConfirmed else { return }
        held.append(HeldSession(network: network.facts, session: session, since: now))
        if held.count > settings.heldSessions { held.removeFirst(held.count - settings.heldSessions) }
    }

    mutating func sessionEnds(_ facts: JoinedNetwork, _ name: NetworkName, _ now: Instant) {
        guard case .maintaining(let session, asked: nil) = phase, session.isConfirmed, let network,
            network.facts.isSame(as: facts)
        else { return }
        self.network = (facts, name)
        maintain(session, now)
    }

    mutating func confirm(_ session: inout Session) {
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
        finding = .captive
        round = Round()
        failedRounds = 0
        problem = nil
    }

    mutating func logOff(_ now: Instant) {
        let session: Session
        switch phase {
        case .authenticated(let current), .maintaining(let current, _): session = current
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
                emit(.end(question.connection))
            }
            evaluation.asked.removeAll { providers.contains($0.provider) }
            evaluation.waiting.removeAll(where: providers.contains)
            evaluation.claims.removeAll { providers.contains($0.provider) }
            evaluate(evaluation, now)
        case .authenticating(let attempt, _) where providers.contains(attempt.provider),
            .presentingUI(let attempt, _, _) where providers.contains(attempt.provider):
            emit(.end(attempt.connection))
            reportProblem(attempt.provider, "it was switched off")
            tryNext(now)
        // A network stays open after its provider is disabled.
        case .authenticated(let session) where providers.contains(session.provider),
            .maintaining(let session, _) where providers.contains(session.provider):
            endConversations()
            phase = .inactive
        // A newly enabled provider may be able to sign in.
        case .waiting where isMore: startRound(now)
        case .inactive, .listing, .authenticating, .presentingUI, .authenticated, .maintaining, .loggingOff, .waiting,
            .resting:
            break
        }
    }

    private mutating func endConversations() {
        switch phase {
        case .listing(let connection, _), .loggingOff(let connection, _): emit(.end(connection))
        case .maintaining(_, let asked): if let asked { emit(.end(asked.connection)) }
        case .evaluating(let evaluation): for question in evaluation.asked { emit(.end(question.connection)) }
        case .authenticating(let attempt, _), .presentingUI(let attempt, _, _): emit(.end(attempt.connection))
        case .inactive, .authenticated, .waiting, .resting: break
        }
    }
}

extension SignIn {
    var deadline: Instant? {
        switch phase {
        case .inactive, .resting: nil
        case .listing(_, let until), .authenticating(_, let until), .presentingUI(_, _, let until),
            .loggingOff(_, let until):
            until
        case .waiting(let until): until
        case .evaluating(let evaluation): evaluation.asked.map(\.until).min()
        case .authenticated(let session): session.maintainAt
        case .maintaining(let session, let asked): asked?.until ?? session.maintainAt
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
        case .waiting: finding != .captive
        case .presentingUI, .loggingOff, .resting: false
        }
    }

    private var portalState: Portal.State {
        switch phase {
        case .inactive, .loggingOff, .resting: .inactive
        // The device uses a network as it is if it is online or no provider claims it.
        case .waiting: finding == .online || round.tried.isEmpty && !round.isTemporary ? .authenticated : .inactive
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
        case .authenticated(let session), .maintaining(let session, _): session.provider
        }
    }

    private var signingInUntil: Instant? {
        switch phase {
        // A network that is not captive is judged by its checks.
        case .listing where finding != .captive, .evaluating where finding != .captive,
            .authenticating where finding != .captive, .presentingUI where finding != .captive:
            nil
        case .inactive, .maintaining, .loggingOff, .waiting, .resting: nil
        case .listing(_, let until), .authenticating(_, let until), .presentingUI(_, _, let until):
            until + settings.handover
        case .evaluating(let evaluation): evaluation.asked.map(\.until).max().map { $0 + settings.handover }
        case .authenticated(let session): session.isConfirmed ? nil : session.start + settings.confirmLimit
        }
    }
}
