import AgentModel
import EventLoop
import OnlineValidation

/// What all questions that the device asks about a network may cost together: those to the source of validation, those to
/// the network's own portal API, and those of a diagnosis.
@AgentLoop
final class QuestionBudget {
    private var budget: ValidationBudget

    init(_ budget: ValidationBudget) { self.budget = budget }

    /// Takes one question, if there is one and there are bytes for it.
    func take() -> Bool { budget.takeProbe(at: .now) }

    /// When the next one may be asked; not before now.
    var next: Instant { budget.next(at: .now) }

    /// Tells what it cost.
    func spent(bytes count: Int) { budget.spent(bytes: count) }
}
