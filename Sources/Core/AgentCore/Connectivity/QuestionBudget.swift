import AgentModel

/// What all questions that the device asks about a network may cost together: those to the source of validation, those
/// to the network's own portal API, and those of a diagnosis.
///
/// What the network makes the device ask, and what apps do, has a quarter each at most: the rest is left to the probes
/// that decide where the device stays.
package struct QuestionBudget: Sendable {
    /// What a question is asked for.
    package enum Purpose: CaseIterable, Sendable {
        case probe
        case portalAPI
        case diagnosis
    }

    package struct Limits: Sendable, Equatable {
        /// 1 to 3600.
        package var questionsPerHour = ValidationBudget.defaultProbesPerHour
        package var bytesPerHour = ValidationBudget.defaultBytesPerHour

        package init(
            questionsPerHour: Int = ValidationBudget.defaultProbesPerHour,
            bytesPerHour: Int = ValidationBudget.defaultBytesPerHour
        ) {
            (self.questionsPerHour, self.bytesPerHour) = (questionsPerHour, bytesPerHour)
        }

        /// What those have that must not use up the whole.
        fileprivate var quarter: Limits {
            Limits(questionsPerHour: max(1, questionsPerHour / 4), bytesPerHour: max(1, bytesPerHour / 4))
        }
    }

    private var whole: ValidationBudget
    private var shares: [Purpose: ValidationBudget]

    package init(_ limits: Limits = Limits()) {
        whole = ValidationBudget(limits)
        shares = Dictionary(
            uniqueKeysWithValues: [Purpose.portalAPI, .diagnosis].map { ($0, ValidationBudget(limits.quarter)) })
    }

    /// Takes one question, if there is one and there are bytes for it.
    package mutating func take(for purpose: Purpose, at now: Instant) -> Bool {
        guard whole.next(at: now) <= now, shares[purpose]?.takeProbe(at: now) ?? true else { return false }
        return whole.takeProbe(at: now)
    }

    /// Tells what it cost.
    package mutating func spent(bytes count: Int, for purpose: Purpose) {
        whole.spent(bytes: count)
        shares[purpose]?.spent(bytes: count)
    }

    /// When the next question may be asked; not before now.
    package mutating func next(for purpose: Purpose, at now: Instant) -> Instant {
        max(whole.next(at: now), shares[purpose]?.next(at: now) ?? now)
    }
}

extension ValidationBudget {
    fileprivate init(_ limits: QuestionBudget.Limits) {
        self.init(probesPerHour: limits.questionsPerHour, bytesPerHour: limits.bytesPerHour)
    }
}

/// The cost limit of validation: questions and bytes an hour. An allowance that was not
/// used is kept for an hour at most.
///
/// When nothing is left, nothing is asked: the verdict before stands until ``next(at:)``.
package struct ValidationBudget: Sendable {
    /// Four times what an interval of 30 s needs.
    package static let defaultProbesPerHour = 480
    /// A question costs about 1 kB.
    package static let defaultBytesPerHour = 1_000_000

    private var probes: TokenBucket
    private var bytes: TokenBucket

    /// - Parameters:
    ///   - probesPerHour: 1 to 3600.
    ///   - bytesPerHour: 1 to 1 000 000 000.
    package init(probesPerHour: Int = defaultProbesPerHour, bytesPerHour: Int = defaultBytesPerHour) {
        probes = TokenBucket(min(probesPerHour, 3600), per: .seconds(3600), burst: min(probesPerHour, 3600))
        bytes = TokenBucket(bytesPerHour, per: .seconds(3600), burst: bytesPerHour)
    }

    /// Takes one question, if there is one and there are bytes for it.
    package mutating func takeProbe(at now: Instant) -> Bool {
        guard next(at: now) <= now else { return false }
        probes.take()
        return true
    }

    /// Tells what the question cost; more than was left is missing later.
    package mutating func spent(bytes count: Int) { bytes.take(count) }

    /// When the next question may be asked; not before now.
    package mutating func next(at now: Instant) -> Instant {
        now + max(probes.delay(at: now), bytes.delay(at: now))
    }
}
