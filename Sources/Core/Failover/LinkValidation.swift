import AgentModel

/// When a link is probed, and what came of the last probes.
struct LinkValidation: Sendable, Hashable {
    /// When to ask next, and by when what was asked has to be answered; never both.
    private(set) var next: Instant?
    private(set) var deadline: Instant?
    /// When it was asked last.
    private var begin: Instant?
    /// The last results, the newest in the lowest bit: set where a probe failed.
    private var results: UInt8 = 0
    /// Successes in a row.
    private(set) var successes = 0
    /// A destination that was reached over the link does not answer any more, and no probe has said otherwise since.
    private(set) var isDoubted = false
    /// A provider is signing in: its result is the answer.
    private(set) var isSigningIn = false
    /// When the sign-in has to be done, counted from the first try; nil where none was needed.
    private var signInEnd: Instant?
    private var hints = Hints()

    /// So many probes are looked back on.
    static let lookBack = 5
    private static let window = UInt8(1 << lookBack - 1)

    var moment: Instant? { next ?? deadline }

    /// Of the last five probes; interference lets one through now and then, and that is no proof of anything. A doubt
    /// counts as one until it is settled, and leaves no trace then.
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

    /// The pause runs from one question to the next: silence that took longer was pause enough.
    func retry(at now: Instant, _ validation: PolicySettings.Validation) -> Instant {
        begin.map { max(now, $0 + validation.retry) } ?? now
    }

    /// - Parameter moment: when to ask again; nil: not at all.
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

    /// Something does not answer any more that did.
    mutating func doubted(at now: Instant, _ validation: PolicySettings.Validation) {
        guard !isDoubted, !isSigningIn else { return }
        isDoubted = true
        if let deadline {
            self.deadline = min(deadline, now + validation.doubtLimit)
        } else {
            hurry(at: now, validation)
        }
    }

    /// The verdict is there, and the doubt is part of it.
    mutating func doubtIsSettled() { isDoubted = false }

    /// Asks as early as hints are worth it.
    mutating func hurry(at now: Instant, _ validation: PolicySettings.Validation) {
        guard let next, let moment = hints.take(at: now, before: next, validation) else { return }
        self.next = moment
    }

    /// No probe is made while a provider signs in.
    /// - Returns: by when the sign-in has to be done; nil if its time is over.
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

/// Hints that it is time to probe come from outside, at any rate. The more of them, the less is each worth a probe.
private struct Hints: Sendable, Hashable {
    private var count = 0
    private var latest: Instant?

    /// - Returns: when to follow it; nil if that is no earlier than what is planned anyway.
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
