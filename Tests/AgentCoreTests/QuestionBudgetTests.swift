import AgentModel
import Testing

@testable import AgentCore

/// The budget of all questions together.
@Suite struct QuestionBudgetTests {
    private let start = Instant(milliseconds: 1_000_000)

    @Test func theWholeIsBoundWhateverIsAsked() {
        var budget = budget()
        #expect(spend(10, .diagnosis, &budget) == 10)
        #expect(spend(10, .portalAPI, &budget) == 10)
        #expect(spend(20, .probe, &budget) == 20)
        for purpose in QuestionBudget.Purpose.allCases {
            #expect(spend(1, purpose, &budget) == 0)
            #expect(next(purpose, &budget) > start)
        }
        #expect(spend(2, .probe, &budget, at: start + .seconds(90)) == 1, "40 an hour")
    }

    /// Neither the network nor an app can use up what the probes need.
    @Test(arguments: [QuestionBudget.Purpose.portalAPI, .diagnosis])
    func theOthersHaveAQuarter(purpose: QuestionBudget.Purpose) {
        var budget = budget()
        #expect(spend(100, purpose, &budget) == 10)
        #expect(spend(100, .probe, &budget) == 30)
        #expect(next(purpose, &budget) == start + .seconds(360), "a quarter of 40 an hour")
    }

    @Test func bytesCountAsWell() {
        var budget = budget()
        budget.spent(bytes: 250_001, for: .portalAPI)
        #expect(spend(1, .portalAPI, &budget) == 0)
        #expect(spend(1, .diagnosis, &budget) == 1 && spend(1, .probe, &budget) == 1)
        budget.spent(bytes: 800_000, for: .probe)
        #expect(spend(1, .probe, &budget) == 0)
        let later = start + .seconds(3600)
        #expect(spend(1, .probe, &budget, at: later) == 1 && spend(1, .portalAPI, &budget, at: later) == 1)
    }

    /// What is refused costs nothing.
    @Test func aShareIsNotSpentOnWhatIsRefused() {
        var budget = budget()
        _ = spend(1000, .probe, &budget)
        #expect(spend(100, .diagnosis, &budget) == 0)
        #expect(spend(100, .diagnosis, &budget, at: start + .seconds(3600)) == 10)
    }

    private func budget() -> QuestionBudget {
        QuestionBudget(QuestionBudget.Limits(questionsPerHour: 40, bytesPerHour: 1_000_000))
    }

    /// - Returns: how many of so many questions may be asked.
    private func spend(
        _ count: Int, _ purpose: QuestionBudget.Purpose, _ budget: inout QuestionBudget, at now: Instant? = nil
    ) -> Int {
        var taken = 0
        for _ in 0..<count where budget.spend(for: purpose, at: now ?? start) { taken += 1 }
        return taken
    }

    private func next(_ purpose: QuestionBudget.Purpose, _ budget: inout QuestionBudget) -> Instant {
        budget.next(for: purpose, at: start)
    }
}
