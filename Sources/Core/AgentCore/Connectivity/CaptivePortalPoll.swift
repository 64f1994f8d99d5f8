import AgentModel

/// Schedules requests to the captive portal API (RFC 8908) and keeps the answers. Does no I/O.
struct CaptivePortalPoll: Sendable {
    enum Answer: Sendable {
        case said(CaptiveState)
        case failed
        /// The network announces no API.
        case nowhere
        /// The budget is used up until this time.
        case postponed(until: Instant)
    }

    /// Delays of the next request after an error or an invalid answer.
    static let failureWaits = BackOff(first: .seconds(60), last: .seconds(3600))
    /// Delays between checks if the DHCP client has the API's URL. A check sends no packet.
    static let announcementWaits = BackOff(first: .seconds(2), last: .seconds(60))
    /// Lifetime of an answer without a session end: twice the longest interval.
    static let validity: Duration = CaptiveSchedule.longestInterval * 2

    private struct Response {
        let state: CaptiveState
        let schedule: CaptiveSchedule
        let moment: Instant

        /// End of the answer's validity.
        var end: Instant { schedule.end ?? moment + CaptivePortalPoll.validity }
    }

    private var response: Response?
    /// Time of the next request; nil while one is pending.
    private(set) var next: Instant?
    private var failures = 0
    private var looks = 0
    /// Whether the answer may be outdated.
    private(set) var isDoubted = true
    private var isExtensionReported = false
    /// Number of the current request. Answers to other requests are ignored.
    private var question = 0

    /// - Parameter now: Time at which the device starts to use the network.
    init(at now: Instant) { next = now }

    mutating func ask() -> Int {
        next = nil
        question += 1
        return question
    }

    mutating func handleAnswer(_ question: Int, _ answer: Answer, at now: Instant) {
        guard question == self.question, next == nil else { return }
        switch answer {
        case .said(let state):
            let schedule = CaptiveSchedule(after: state, asked: now)
            response = Response(state: state, schedule: schedule, moment: now)
            (failures, looks) = (0, 0)
            next = schedule.next
        // The last answer stays valid.
        case .failed:
            next = now + Self.failureWaits.wait(after: failures)
            failures += 1
        case .nowhere:
            next = now + Self.announcementWaits.wait(after: looks)
            looks += 1
        case .postponed(let moment): next = max(moment, now + CaptiveSchedule.shortestInterval)
        }
        isDoubted = false
    }

    /// Asks again after a provider has signed in or extended the session. A captive answer is discarded.
    mutating func doubt(at now: Instant) {
        if response?.state.isCaptive == true { response = nil }
        isDoubted = true
        next = now
    }

    /// Last valid answer with the remaining time at `now`; nil if there is none.
    func state(at now: Instant) -> CaptiveState? {
        guard let response, response.end > now else { return nil }
        var state = response.state
        let passed = Int(max(0, (now - response.moment).milliseconds) / 1000)
        state.secondsRemaining = state.secondsRemaining.map { max(0, $0 - passed) }
        return state
    }

    /// Returns true, once per session end, if the provider should extend the session now.
    mutating func reportExtension(at now: Instant) -> Bool {
        guard let response, let from = response.schedule.extendFrom, from <= now, response.end > now else {
            isExtensionReported = false
            return false
        }
        defer { isExtensionReported = true }
        return !isExtensionReported
    }
}

/// Schedule of requests to a captive portal API: before the session ends, within rate limits.
package struct CaptiveSchedule: Sendable, Equatable {
    /// Interval while the user must sign in. Validation, not the API, detects the sign-in.
    package static let captiveInterval: Duration = .seconds(60)
    /// Interval for a session with a byte limit, which may be reached at any time.
    package static let countedInterval: Duration = .seconds(300)
    /// Maximum interval, because the portal may shorten a session.
    package static let longestInterval: Duration = .seconds(3600)
    /// Minimum interval, even if little time remains.
    package static let shortestInterval: Duration = .seconds(10)
    /// Lead time of an extension before the session's end.
    package static let extensionLead: Duration = .seconds(120)

    package let next: Instant
    package let end: Instant?
    /// Time from which the session should be extended; nil if the portal cannot extend it.
    package let extendFrom: Instant?

    package init(after state: CaptiveState, asked: Instant) {
        guard !state.isCaptive else {
            (next, end, extendFrom) = (asked + Self.captiveInterval, nil, nil)
            return
        }
        // More than a century counts as unlimited, to avoid an overflow.
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
