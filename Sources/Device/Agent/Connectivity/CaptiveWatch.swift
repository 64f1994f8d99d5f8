import AgentModel
import Connectivity
import Linux

/// Asks the network in use about itself (RFC 8908) whenever that is due, whatever else is going on.
@AgentLoop
final class CaptiveWatch {
    /// How a network is asked.
    struct Means: Sendable {
        /// Where, as the network told; nil where it did not.
        var find: @Sendable (InterfaceNetwork, Duration) async -> String?
        var ask: @Sendable (_ url: String, InterfaceNetwork, Duration) async -> CaptiveLook
        var now: @Sendable () -> Instant = { .now }
    }

    /// For one question, with the name and the connection.
    static let limit: Duration = .seconds(3)

    private let means: Means
    private let budget: QuestionBudget
    private var network: InterfaceNetwork?
    private var course: CaptivePortalPoll
    private var timer: LoopTimer?
    private var question: Task<Void, Never>?
    /// Is told when the network has been asked, with what counted before, and whether the provider should extend
    /// the session now.
    var onAnswer: (_ before: CaptiveState?, _ wantsExtension: Bool) -> Void = { _, _ in }

    init(_ means: Means, _ budget: QuestionBudget) {
        self.means = means
        self.budget = budget
        course = CaptivePortalPoll(at: means.now())
    }

    /// Another network is in use, or none; it is asked as soon as may be.
    func follow(_ network: InterfaceNetwork?) {
        self.network = network
        question?.cancel()
        question = nil
        course = CaptivePortalPoll(at: means.now())
        plan()
    }

    /// What the network said last and still counts.
    var state: CaptiveState? { course.state(at: means.now()) }

    /// The same, after the question under way where nothing was said before, or what was said is in doubt.
    func state(within limit: Duration) async -> CaptiveState? {
        let end = Instant.now + limit
        askIfDue()
        while course.isDoubted, let question, Instant.now < end { await question.end(within: end - .now) }
        return state
    }

    /// A provider says that it has signed in, or has extended the session: the network's earlier answer is in doubt.
    func askAnew() {
        course.doubt(at: means.now())
        plan()
    }

    // MARK: Questions

    private func plan() {
        timer = nil
        guard network != nil, let next = course.next else { return }
        timer = LoopTimer(after: next - means.now()) { [weak self] in self?.askIfDue() }
    }

    private func askIfDue() {
        guard let network, let next = course.next, next <= means.now() else { return }
        timer = nil
        // Another one may be under way, from before it came into doubt.
        question?.cancel()
        // A repeated question has no caller that waits, and a short time-out would wake the processor ten times.
        let patience: Duration = course.isDoubted ? .seconds(1) : .zero
        let number = course.ask()
        question = AgentLoop.begin { [weak self] in
            guard let answer = await self?.answer(of: network, patience), !Task.isCancelled else { return }
            self?.answered(number, answer)
        }
    }

    /// - Parameter patience: how long it may take until the DHCP client has noted where to ask.
    private func answer(of network: InterfaceNetwork, _ patience: Duration) async -> CaptivePortalPoll.Answer {
        let end = Instant.now + Self.limit
        guard let url = await means.find(network, patience), !Task.isCancelled else { return .nowhere }
        guard budget.take(for: .portalAPI) else { return .postponed(until: budget.next(for: .portalAPI)) }
        let look = await means.ask(url, network, max(.zero, end - .now))
        budget.spent(bytes: look.cost, for: .portalAPI)
        return if case .success(let state) = look.result { .said(state) } else { .failed }
    }

    private func answered(_ number: Int, _ answer: CaptivePortalPoll.Answer) {
        let before = state
        course.answered(number, answer, at: means.now())
        question = nil
        plan()
        onAnswer(before, course.takeExtension(at: means.now()))
    }
}
