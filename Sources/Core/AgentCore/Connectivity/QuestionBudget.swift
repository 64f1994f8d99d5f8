import AgentModel

/// Common budget for all questions about a network: validation, captive portal API and diagnosis. The API and diagnosis
/// may each use a quarter. The rest is reserved for probes, which decide where the device stays.
package struct QuestionBudget: Sendable {
    package enum Purpose: CaseIterable, Sendable {
        case probe
        case portalAPI
        case diagnosis
    }

    package struct Limits: Sendable, Equatable {
        /// Questions an hour, 1 to 3600.
        package var questionsPerHour = ValidationBudget.defaultProbesPerHour
        package var bytesPerHour = ValidationBudget.defaultBytesPerHour

        package init(
            questionsPerHour: Int = ValidationBudget.defaultProbesPerHour,
            bytesPerHour: Int = ValidationBudget.defaultBytesPerHour
        ) {
            (self.questionsPerHour, self.bytesPerHour) = (questionsPerHour, bytesPerHour)
        }

        /// Limits for the captive portal API and for diagnosis.
        fileprivate var quarter: Limits {
            Limits(questionsPerHour: max(1, questionsPerHour / 4), bytesPerHour: max(1, bytesPerHour / 4))
        }
    }

    private var whole: ValidationBudget
    private var shares: [Purpose: ValidationBudget]

    package init(_ limits: Limits) {
        whole = ValidationBudget(limits)
        shares = Dictionary(
            uniqueKeysWithValues: [Purpose.portalAPI, .diagnosis].map { ($0, ValidationBudget(limits.quarter)) })
    }

    /// Spends one question. Returns false if the budget is used up.
    package mutating func spend(for purpose: Purpose, at now: Instant) -> Bool {
        guard whole.next(at: now) <= now, shares[purpose]?.spendProbe(at: now) ?? true else { return false }
        return whole.spendProbe(at: now)
    }

    package mutating func spent(bytes count: Int, for purpose: Purpose) {
        whole.spent(bytes: count)
        shares[purpose]?.spent(bytes: count)
    }

    /// Time of the next allowed question, at least `now`.
    package mutating func next(for purpose: Purpose, at now: Instant) -> Instant {
        max(whole.next(at: now), shares[purpose]?.next(at: now) ?? now)
    }
}

extension ValidationBudget {
    fileprivate init(_ limits: QuestionBudget.Limits) {
        self.init(probesPerHour: limits.questionsPerHour, bytesPerHour: limits.bytesPerHour)
    }
}

/// Budget of validation: questions and bytes an hour. Unused budget is kept for an hour at most. When the budget is
/// used up, the last verdict stays valid until ``next(at:)``.
package struct ValidationBudget: Sendable {
    /// Questions an hour, four times the need at an interval of 30 s.
    package static let defaultProbesPerHour = 480
    /// Bytes an hour. A question costs about 1 kB.
    package static let defaultBytesPerHour = 1_000_000

    private var probes: TokenBucket
    private var bytes: TokenBucket

    /// - Parameters:
    ///   - probesPerHour: 1 to 3600.
    ///   - bytesPerHour: 1 to 1 000 000 000.
    package init(probesPerHour: Int, bytesPerHour: Int) {
        probes = TokenBucket(min(probesPerHour, 3600), per: .seconds(3600), burst: min(probesPerHour, 3600))
        bytes = TokenBucket(bytesPerHour, per: .seconds(3600), burst: bytesPerHour)
    }

    package mutating func spendProbe(at now: Instant) -> Bool {
        guard next(at: now) <= now else { return false }
        probes.consume()
        return true
    }

    /// Charges the cost of a question in bytes. The budget may become negative.
    package mutating func spent(bytes count: Int) { bytes.consume(count) }

    package mutating func next(at now: Instant) -> Instant {
        now + max(probes.delay(at: now), bytes.delay(at: now))
    }
}
