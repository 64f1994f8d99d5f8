import AgentModel
import EventLoop
import InterfaceNetwork
import OnlineValidation

/// What the network in use says of itself (RFC 8908).
@AgentLoop
final class CaptiveWatch {
    private let ask: @Sendable (InterfaceNetwork, Duration) async -> CaptiveState?
    /// What it said last, and when to ask again.
    private var answer: (state: CaptiveState, schedule: CaptiveSchedule)?
    /// Counts the networks, so that what comes late is known to be late.
    private var epoch = 0

    init(asking ask: @escaping @Sendable (InterfaceNetwork, Duration) async -> CaptiveState?) { self.ask = ask }

    /// Another network is in use, or none.
    func forget() {
        answer = nil
        epoch += 1
    }

    var state: CaptiveState? { answer?.state }

    /// What it says now, as far as it has to be asked.
    func state(through network: InterfaceNetwork, within limit: Duration) async -> CaptiveState? {
        if let answer, answer.schedule.next > .now { return answer.state }
        let epoch = epoch
        let state = await ask(network, limit)
        guard epoch == self.epoch else { return nil }
        answer = state.map { ($0, CaptiveSchedule(after: $0, asked: .now)) }
        return state
    }
}
