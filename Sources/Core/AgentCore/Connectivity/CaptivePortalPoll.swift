import AgentModel

/// The answers of the network in use about itself (RFC 8908), and when to ask again. Decides; does no I/O.
struct CaptivePortalPoll: Sendable {
    /// What became of a question.
    enum Answer: Sendable {
        case said(CaptiveState)
        case failed
        /// The network did not tell where it can be asked.
        case nowhere
        /// There was nothing left of the budget before this moment.
        case postponed(until: Instant)
    }

    /// After an API that does not answer, or says what is none.
    static let failureWaits = BackOff(first: .seconds(60), last: .seconds(3600))
    /// Until the DHCP client has noted where to ask, or has nothing to note. To look costs no packet.
    static let noteWaits = BackOff(first: .seconds(2), last: .seconds(60))
    /// An unconfirmed answer counts no longer than this: the longest interval, and as much for an API that fails.
    static let validity: Duration = CaptiveSchedule.longestInterval * 2

    private struct Said {
        let state: CaptiveState
        let schedule: CaptiveSchedule
        let moment: Instant

        /// When it counts no more, if nothing else is said until then.
        var end: Instant { schedule.end ?? moment + CaptivePortalPoll.validity }
    }

    private var said: Said?
    /// When to ask next; nil while a question is under way.
    private(set) var next: Instant?
    private var failures = 0
    private var looks = 0
    /// Whether something has happened since that may have changed what was said.
    private(set) var isDoubted = true
    private var isExtensionTold = false
    /// The question under way. What another one brings comes too late.
    private var question = 0

    /// - Parameter now: the network is in use from now on, and nothing is known of it.
    init(at now: Instant) { next = now }

    /// A question begins.
    /// - Returns: its number.
    mutating func ask() -> Int {
        next = nil
        question += 1
        return question
    }

    mutating func answered(_ question: Int, _ answer: Answer, at now: Instant) {
        guard question == self.question, next == nil else { return }
        switch answer {
        case .said(let state):
            let schedule = CaptiveSchedule(after: state, asked: now)
            said = Said(state: state, schedule: schedule, moment: now)
            (failures, looks) = (0, 0)
            next = schedule.next
        // What was said before stands.
        case .failed:
            next = now + Self.failureWaits.wait(after: failures)
            failures += 1
        case .nowhere:
            next = now + Self.noteWaits.wait(after: looks)
            looks += 1
        case .postponed(let moment): next = max(moment, now + CaptiveSchedule.shortestInterval)
        }
        isDoubted = false
    }

    /// A provider has signed in, or has extended the session: the network is asked anew, and its old answer, not
    /// signed in, ends.
    mutating func doubt(at now: Instant) {
        if said?.state.isCaptive == true { said = nil }
        isDoubted = true
        next = now
    }

    /// What was said last, with what remains of the time by now; nil where nothing was, or nothing that still counts.
    func state(at now: Instant) -> CaptiveState? {
        guard let said, said.end > now else { return nil }
        var state = said.state
        let passed = Int(max(0, (now - said.moment).milliseconds) / 1000)
        state.secondsRemaining = state.secondsRemaining.map { max(0, $0 - passed) }
        return state
    }

    /// Whether the provider has to be told that the session ends soon; once for each time that it does.
    mutating func takeExtension(at now: Instant) -> Bool {
        guard let said, let from = said.schedule.extendFrom, from <= now, said.end > now else {
            isExtensionTold = false
            return false
        }
        defer { isExtensionTold = true }
        return !isExtensionTold
    }
}

/// When to ask a network's captive portal API again: before what it granted runs out, and not more often than it likes.
package struct CaptiveSchedule: Sendable, Equatable {
    /// While the user has to sign in: the sign-in itself is noticed by the source of validation.
    package static let captiveInterval: Duration = .seconds(60)
    /// While bytes are counted: they may run out at any rate.
    package static let countedInterval: Duration = .seconds(300)
    /// However long a session lasts: it may be shortened.
    package static let longestInterval: Duration = .seconds(3600)
    /// Nor is a server asked more often that says again and again that hardly anything is left.
    package static let shortestInterval: Duration = .seconds(10)
    /// How long before the end a session is extended.
    package static let extensionLead: Duration = .seconds(120)

    /// When to ask again.
    package let next: Instant
    /// When the session ends, if it does.
    package let end: Instant?
    /// The moment from which on the user or the provider should extend the session; nil if that cannot be done.
    package let extendFrom: Instant?

    /// - Parameter asked: when the answer came.
    package init(after state: CaptiveState, asked: Instant) {
        guard !state.isCaptive else {
            (next, end, extendFrom) = (asked + Self.captiveInterval, nil, nil)
            return
        }
        // More than a century is no end, and would not fit.
        let seconds = state.secondsRemaining.flatMap { $0 < 1 << 32 ? $0 : nil }
        end = seconds.map { asked + .seconds($0) }
        let canExtend = state.canExtendSession == true && state.userPortal != nil
        let lead = canExtend ? Self.extensionLead : .zero
        extendFrom = canExtend ? end.map { max(asked, $0 - lead) } : nil
        let usual = state.bytesRemaining == nil ? Self.longestInterval : Self.countedInterval
        let wanted = end.map { $0 - lead > asked ? $0 - lead : $0 }
        next = min(asked + usual, max(asked + Self.shortestInterval, wanted ?? asked + usual))
    }
}
