import AgentModel
import Connectivity
import Linux

/// What all questions that the device asks about a network may cost together: those to the source of validation, those to
/// the network's own portal API, and those of a diagnosis.
///
/// What the network makes the device ask, and what apps do, has a quarter each at most: the rest is left to the probes
/// that decide where the device stays.
@AgentLoop
final class QuestionBudget {
    /// What a question is asked for.
    enum Purpose: CaseIterable {
        case probe
        case portalAPI
        case diagnosis
    }

    struct Limits: Sendable, Equatable {
        /// 1 to 3600.
        var questionsPerHour = ValidationBudget.defaultProbesPerHour
        var bytesPerHour = ValidationBudget.defaultBytesPerHour

        /// What those have that must not use up the whole.
        fileprivate var quarter: Limits {
            Limits(questionsPerHour: max(1, questionsPerHour / 4), bytesPerHour: max(1, bytesPerHour / 4))
        }
    }

    private var whole: ValidationBudget
    private var shares: [Purpose: ValidationBudget]
    private let now: @Sendable () -> Instant

    init(_ limits: Limits = Limits(), now: @escaping @Sendable () -> Instant = { .now }) {
        self.now = now
        whole = ValidationBudget(limits)
        shares = Dictionary(
            uniqueKeysWithValues: [Purpose.portalAPI, .diagnosis].map {
                ($0, ValidationBudget(limits.quarter))
            })
    }

    /// Takes one question, if there is one and there are bytes for it.
    func take(for purpose: Purpose) -> Bool {
        let now = now()
        guard whole.next(at: now) <= now, shares[purpose]?.takeProbe(at: now) ?? true else { return false }
        return whole.takeProbe(at: now)
    }

    /// Tells what it cost.
    func spent(bytes count: Int, for purpose: Purpose) {
        whole.spent(bytes: count)
        shares[purpose]?.spent(bytes: count)
    }

    /// When the next question may be asked; not before now.
    func next(for purpose: Purpose) -> Instant {
        let now = now()
        return max(whole.next(at: now), shares[purpose]?.next(at: now) ?? now)
    }
}

extension ValidationBudget {
    fileprivate init(_ limits: QuestionBudget.Limits) {
        self.init(probesPerHour: limits.questionsPerHour, bytesPerHour: limits.bytesPerHour)
    }
}
