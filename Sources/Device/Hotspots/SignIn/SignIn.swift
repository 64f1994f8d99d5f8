import AgentModel
import AppProtocol

/// The sign-in at one network after the other, by whichever provider can: it decides, and whoever calls it carries out
/// the actions.
struct SignIn: Sendable {
    typealias Conversation = Int

    enum Input: Sendable {
        case captive(CaptiveNetwork, NetworkName)
        case online
        /// What was signed in to ends soon, and may be extended.
        case ending(CaptiveNetwork, NetworkName)
        case left
        /// The agent is about to leave the network on purpose.
        case logOff
        case listed(Conversation, ProviderList)
        case answered(Conversation, ProviderAnswer)
        /// The conversation has ended with it.
        case failed(Conversation, ProviderFault)
        case person(PortalAnswer)
        /// A deadline may have come.
        case timePassed
    }

    enum Action: Sendable, Equatable {
        case list(Conversation)
        /// A new conversation, with its first question.
        case open(Conversation, provider: String, ProviderRequest.Content)
        /// The next question of a conversation.
        case ask(Conversation, ProviderRequest.Content)
        case end(Conversation)
    }

    enum Phase: Sendable {
        case inactive
        case listing(Conversation, until: Instant)
        case evaluating(Evaluation)
        case authenticating(Attempt, until: Instant)
        case presentingUI(Attempt, PortalRequest, until: Instant)
        case authenticated(Session)
        case maintaining(Session, Conversation, until: Instant)
        case loggingOff(Conversation, until: Instant)
        /// Nobody could sign in: it is tried again then.
        case waiting(until: Instant)
        /// Until the network is left: the person did not want to, or the device has logged off.
        case resting
    }

    struct Evaluation: Sendable {
        struct Question: Sendable {
            let conversation: Conversation
            let provider: String
            let until: Instant
        }

        var asked: [Question] = []
        var waiting: [String]
        var claims: [(provider: String, confidence: Confidence)] = []
    }

    struct Attempt: Sendable {
        let conversation: Conversation
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

    /// One try of all who can, each once.
    struct Round: Sendable {
        /// Who is tried next.
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
    /// Rounds in a row in which nobody signed in.
    var failedRounds = 0
    var problem: String?
    var remembered: RememberedProviders
    private var lastConversation = 0
    private var lastRequest: Int
    private var actions: [Action] = []

    /// - Parameter firstRequest: the number of the first question to a person: another one after each start, so that an
    ///   answer to a question from before it is none.
    init(settings: HotspotSettings = HotspotSettings(), firstRequest: Int = 1) {
        self.settings = settings
        lastRequest = firstRequest - 1
        remembered = RememberedProviders(limit: settings.rememberedNetworks)
    }

    mutating func handle(_ input: Input, at now: Instant) -> [Action] {
        switch input {
        case .captive(let facts, let name): captiveFound(facts, name, now)
        case .online: onlineFound()
        case .ending(let facts, let name): sessionEnds(facts, name, now)
        case .left: leave()
        case .logOff: logOff(now)
        case .listed(let conversation, let list): listed(conversation, list, now)
        case .answered(let conversation, let answer): answered(conversation, answer, now)
        case .failed(let conversation, let fault): failed(conversation, fault, now)
        case .person(let answer): personAnswered(answer, now)
        case .timePassed: timePassed(now)
        }
        defer { actions = [] }
        return actions
    }

    // MARK: What the rest is written in

    mutating func act(_ action: Action) { actions.append(action) }

    mutating func nextConversation() -> Conversation {
        lastConversation += 1
        return lastConversation
    }

    mutating func nextRequest() -> Int {
        lastRequest += 1
        return lastRequest
    }

    mutating func open(_ provider: String, _ content: ProviderRequest.Content) -> Conversation {
        let conversation = nextConversation()
        act(.open(conversation, provider: provider, content))
        return conversation
    }

    mutating func note(_ provider: String, _ complaint: String) { problem = "\(provider): \(complaint)" }
}
