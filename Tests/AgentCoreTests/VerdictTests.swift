import AgentModel
import Randomness
import Testing

@testable import AgentCore

@Suite struct VerdictTests {
    private let open = CaptiveState(
        isCaptive: false, userPortal: .portal, canExtendSession: true, secondsRemaining: 600, bytesRemaining: 1000)
    private let closed = CaptiveState(isCaptive: true, userPortal: .portal, secondsRemaining: 0)

    @Test func whatTheSourceShowsDecides() {
        #expect(OnlineVerdict(finding: .online, state: nil).internet == .yes)
        #expect(OnlineVerdict(finding: .online, state: closed).internet == .yes)
        #expect(OnlineVerdict(finding: .online, state: closed).problem == nil)
        #expect(OnlineVerdict(finding: .captive(portal: nil), state: open).internet == .captive)
        #expect(OnlineVerdict(finding: .failed(.timedOut), state: open).internet == .no)
        #expect(OnlineVerdict(finding: .failed(.timedOut), state: open).problem == .timedOut)
        // A silent network that says of itself that it is closed.
        #expect(OnlineVerdict(finding: .failed(.timedOut), state: closed).internet == .captive)
        #expect(OnlineVerdict(finding: .failed(.timedOut), state: closed).problem == .captive)
        #expect(OnlineVerdict(finding: nil, state: closed).internet == .captive)
        // That it says it is open proves nothing.
        #expect(OnlineVerdict(finding: nil, state: open).internet == .unknown)
        #expect(OnlineVerdict(finding: nil, state: nil).internet == .unknown)
    }

    @Test func whatTheNetworkSaysIsWhere() {
        let hint = "http://192.0.2.1/hint"
        #expect(OnlineVerdict(finding: .captive(portal: hint), state: closed).portal == "https://portal.example/")
        #expect(OnlineVerdict(finding: .captive(portal: hint), state: nil).portal == hint)
        #expect(OnlineVerdict(finding: .captive(portal: hint), state: CaptiveState(isCaptive: true)).portal == hint)
        #expect(OnlineVerdict(finding: .online, state: open).portal == "https://portal.example/")
    }

    private let now = Instant(milliseconds: 5000)

    @Test func askedAgainBeforeASessionEnds() {
        let schedule = CaptiveSchedule(after: open, asked: now)
        #expect(schedule.end == now + .seconds(600))
        #expect(schedule.extendFrom == now + .seconds(480))
        // Bytes are counted, too.
        #expect(schedule.next == now + .seconds(300))
        let timed = CaptiveState(isCaptive: false, userPortal: .portal, canExtendSession: true, secondsRemaining: 600)
        #expect(CaptiveSchedule(after: timed, asked: now).next == now + .seconds(480))
    }

    @Test(
        arguments: [
            (CaptiveState(isCaptive: true), 60), (CaptiveState(isCaptive: true, secondsRemaining: 5), 60),
            (CaptiveState(isCaptive: false), 3600), (CaptiveState(isCaptive: false, bytesRemaining: 5), 300),
            (CaptiveState(isCaptive: false, secondsRemaining: 100), 100),
            (CaptiveState(isCaptive: false, canExtendSession: true, secondsRemaining: 200), 200),
            (CaptiveState(isCaptive: false, userPortal: .portal, canExtendSession: true, secondsRemaining: 200), 80),
            // The time to extend it has come: what is left is waited for.
            (CaptiveState(isCaptive: false, userPortal: .portal, canExtendSession: true, secondsRemaining: 100), 100),
            (CaptiveState(isCaptive: false, secondsRemaining: 0), 10),
            (CaptiveState(isCaptive: false, secondsRemaining: 3), 10),
            (CaptiveState(isCaptive: false, secondsRemaining: 86_400), 3600),
            (CaptiveState(isCaptive: false, secondsRemaining: 9_007_199_254_740_991), 3600),
        ])
    func whenToAskAgain(_ state: CaptiveState, _ seconds: Int) {
        #expect(CaptiveSchedule(after: state, asked: now).next == now + .seconds(seconds))
    }

    @Test func aBudgetIsKept() {
        var budget = ValidationBudget(probesPerHour: 4, bytesPerHour: 4000)
        func take(at time: Instant) -> Bool { budget.spendProbe(at: time) }
        func next(at time: Instant) -> Instant { budget.next(at: time) }
        for _ in 1...4 { #expect(take(at: now)) }
        #expect(!take(at: now))
        // One every quarter of an hour.
        #expect(next(at: now) == now + .seconds(900))
        #expect(!take(at: now + .seconds(899)))
        #expect(take(at: now + .seconds(900)))
        #expect(!take(at: now + .seconds(900)))
    }

    @Test func bytesThatWereTooManyAreMissingLater() {
        var budget = ValidationBudget(probesPerHour: 3600, bytesPerHour: 3600)
        func take(at time: Instant) -> Bool { budget.spendProbe(at: time) }
        func next(at time: Instant) -> Instant { budget.next(at: time) }
        #expect(take(at: now))
        budget.spent(bytes: 7200)
        // An hour until the debt is paid, and a second until there is a byte again.
        #expect(next(at: now) == now + .seconds(3601))
        #expect(!take(at: now + .seconds(3600)))
        #expect(take(at: now + .seconds(3601)))
    }

    @Test func aRestIsNotWorthMoreThanAnHour() {
        var budget = ValidationBudget(probesPerHour: 2, bytesPerHour: 1000)
        func take(at time: Instant) -> Bool { budget.spendProbe(at: time) }
        let later = now + .seconds(1_000_000)
        #expect(take(at: later))
        #expect(take(at: later))
        #expect(!take(at: later))
        // A clock that goes back gives nothing.
        #expect(!take(at: now))
    }

    /// In any order of events, no hour sees more than twice its share: the savings, and the income.
    @Test func noHourCostsMoreThanItsShare() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<50 {
            let share = Int.random(in: 1...50, using: &random)
            var budget = ValidationBudget(probesPerHour: share, bytesPerHour: 1_000_000_000)
            var (time, taken): (Instant, [Instant]) = (now, [])
            for _ in 0..<500 {
                time = time + .milliseconds(Int.random(in: 0...200_000, using: &random))
                if budget.spendProbe(at: time) { taken.append(time) }
            }
            for start in taken {
                #expect(taken.count { $0 >= start && $0 < start + .seconds(3600) } <= 2 * share)
            }
        }
    }
}

extension String {
    fileprivate static let portal = "https://portal.example/"
}
