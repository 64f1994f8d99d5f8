import AgentModel

/// Times of a link's probes, and the last results.
struct LinkValidation: Sendable, Hashable {
    /// Time of the next probe, and deadline of the one under way; never both.
    private(set) var next: Instant?
    private(set) var deadline: Instant?
    /// Start of the last probe.
    private var begin: Instant?
    /// The last results, the newest in the lowest bit: set where a probe failed.
    private var results: UInt8 = 0
    /// Successes in a row.
    private(set) var successes = 0
    /// Whether a destination that was reached over the link stopped answering, and no probe has succeeded since.
    private(set) var isDoubted = false
    /// Whether a provider is signing in. Its result counts as the probe's.
    private(set) var isSigningIn = false
    /// Deadline of the sign-in, counted from the first try; nil where none was needed.
    private var signInEnd: Instant?
    private var hints = Hints()

    /// Number of probes that count.
    static let lookBack = 5
    private static let window = UInt8(1 << lookBack - 1)

    var moment: Instant? { next ?? deadline }

    /// Failures among the last five probes: interference lets single ones through. A doubt counts as one until it is
    /// settled.
    var failures: Int { (results & Self.window).nonzeroBitCount + (isDoubted ? 1 : 0) }

    var isUnderWay: Bool { deadline != nil }

    mutating func askAgain(at moment: Instant) {
        next = moment
        deadline = nil
        isSigningIn = false
    }

    mutating func asked(at now: Instant, until deadline: Instant) {
        (next, begin) = (nil, now)
        self.deadline = deadline
    }

    /// When to probe again after a failure. The pause runs from probe to probe, so a longer silence needs none.
    func retry(at now: Instant, _ validation: PolicySettings.Validation) -> Instant {
        begin.map { max(now, $0 + validation.retry) } ?? now
    }

    /// - Parameter moment: time of the next probe; nil for none.
    mutating func ended(well isWell: Bool, next moment: Instant?) {
        results = results << 1 | (isWell ? 0 : 1)
        successes = isWell ? successes + 1 : 0
        next = moment
        deadline = nil
        isSigningIn = false
        guard isWell else { return }
        isDoubted = false
        signInEnd = nil
    }

    // MARK: Unasked events

    /// Notes that a destination stopped answering.
    /// - Returns: whether that is news.
    mutating func doubted(at now: Instant, _ validation: PolicySettings.Validation) -> Bool {
        guard !isDoubted, !isSigningIn else { return false }
        isDoubted = true
        if let deadline, let begin {
            self.deadline = min(deadline, max(now, begin + validation.doubtLimit))
        } else {
            hurry(at: now, validation)
        }
        return true
    }

    /// Ends the doubt, which the verdict includes.
    mutating func doubtIsSettled() { isDoubted = false }

    /// Probes as early as the limit for hints permits.
    mutating func hurry(at now: Instant, _ validation: PolicySettings.Validation) {
        guard let next, let moment = hints.take(at: now, before: next, validation) else { return }
        self.next = moment
    }

    /// Makes no probe while a provider signs in.
    /// - Returns: deadline of the sign-in; nil if its time is over.
    mutating func signingIn(
        until end: Instant, at now: Instant, _ validation: PolicySettings.Validation
    ) -> Instant? {
        let bound = signInEnd ?? now + validation.signInLimit
        signInEnd = bound
        guard bound > now, end > now else { return nil }
        isSigningIn = true
        asked(at: now, until: min(end, bound))
        return deadline
    }
}

/// Rate limit for probes triggered from outside: each further hint waits twice as long.
private struct Hints: Sendable, Hashable {
    private var count = 0
    private var latest: Instant?

    /// - Returns: when to probe; nil if that is no earlier than planned.
    mutating func take(at now: Instant, before planned: Instant, _ validation: PolicySettings.Validation) -> Instant? {
        if let latest, now - latest >= validation.interval * 2 { self = Hints() }
        let backOff = BackOff(first: validation.retry, last: max(validation.retry, validation.interval))
        let moment = latest.map { max(now, $0 + backOff.wait(after: count - 1)) } ?? now
        guard moment < planned else { return nil }
        count = min(count + 1, 30)
        latest = moment
        return moment
    }
}
