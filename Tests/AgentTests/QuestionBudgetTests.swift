import AgentModel
import Linux
import Synchronization
import Testing

@testable import Agent

/// The budget of all questions together.
@AgentLoop @Suite struct QuestionBudgetTests {
    private let clock = Clock()

    @Test func theWholeIsBoundWhoeverAsks() {
        let budget = budget()
        for _ in 1...10 { #expect(budget.take(for: .diagnosis)) }
        for _ in 1...10 { #expect(budget.take(for: .portalAPI)) }
        for _ in 1...20 { #expect(budget.take(for: .probe)) }
        for purpose in QuestionBudget.Purpose.allCases {
            #expect(!budget.take(for: purpose))
            #expect(budget.next(for: purpose) > clock.now)
        }
        clock.pass(.seconds(90))
        #expect(budget.take(for: .probe) && !budget.take(for: .probe), "40 an hour")
    }

    /// Neither the network nor an app can use up what the probes need.
    @Test(arguments: [QuestionBudget.Purpose.portalAPI, .diagnosis])
    func theOthersHaveAQuarter(purpose: QuestionBudget.Purpose) {
        let budget = budget()
        #expect((1...100).count { _ in budget.take(for: purpose) } == 10)
        #expect((1...100).count { _ in budget.take(for: .probe) } == 30)
        #expect(budget.next(for: purpose) == clock.now + .seconds(360), "a quarter of 40 an hour")
    }

    @Test func bytesCountAsWell() {
        let budget = budget()
        budget.spent(bytes: 250_001, for: .portalAPI)
        #expect(!budget.take(for: .portalAPI) && budget.take(for: .diagnosis) && budget.take(for: .probe))
        budget.spent(bytes: 800_000, for: .probe)
        #expect(!budget.take(for: .probe))
        clock.pass(.seconds(3600))
        #expect(budget.take(for: .probe) && budget.take(for: .portalAPI))
    }

    /// A refused question costs nothing.
    @Test func aShareIsNotSpentOnWhatIsRefused() {
        let budget = budget()
        while budget.take(for: .probe) {}
        for _ in 1...100 { #expect(!budget.take(for: .diagnosis)) }
        clock.pass(.seconds(3600))
        #expect((1...100).count { _ in budget.take(for: .diagnosis) } == 10)
    }

    private func budget() -> QuestionBudget {
        QuestionBudget(
            QuestionBudget.Limits(questionsPerHour: 40, bytesPerHour: 1_000_000), now: { [clock] in clock.now })
    }
}

/// A clock that goes when it is told to.
final class Clock: Sendable {
    private let moment = Mutex(Instant(milliseconds: 1_000_000))

    var now: Instant { moment.withLock { $0 } }

    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }
}
