import AgentModel
import Testing

@testable import AgentCore

/// When a network is asked about itself, and how long its word counts.
@Suite struct CaptiveCourseTests {
    private static let start = Instant(milliseconds: 1_000_000)
    private let bench = Bench()

    private static let portal = "https://portal.example/"
    private static let closed = CaptiveState(isCaptive: true, userPortal: portal)

    private static func open(_ seconds: Int?, canExtend: Bool? = nil, bytes: Int? = nil) -> CaptiveState {
        CaptiveState(
            isCaptive: false, userPortal: portal, canExtendSession: canExtend, secondsRemaining: seconds,
            bytesRemaining: bytes)
    }

    /// A course with its clock.
    private final class Bench {
        var now = start
        private(set) var course = CaptivePortalPoll(at: start)

        func ask(_ answer: CaptivePortalPoll.Answer) { course.handleAnswer(course.ask(), answer, at: now) }
        func begin() -> Int { course.ask() }
        func end(_ question: Int, _ answer: CaptivePortalPoll.Answer) { course.handleAnswer(question, answer, at: now) }
        func doubt() { course.doubt(at: now) }
        func takesExtension() -> Bool { course.reportExtension(at: now) }
        func pass(_ duration: Duration) { now = now + duration }

        var state: CaptiveState? { course.state(at: now) }

        /// - Returns: how long until it is asked again.
        func wait() -> Duration? {
            guard let next = course.next else { return nil }
            defer { now = next }
            return next - now
        }
    }

    @Test func itIsAskedAtOnceAndThenWhenItsWordRunsOut() {
        #expect(bench.course.next == bench.now && bench.course.isDoubted)
        bench.ask(.said(Self.closed))
        #expect(!bench.course.isDoubted)
        #expect(bench.wait() == .seconds(60))
        bench.ask(.said(Self.open(600)))
        #expect(bench.wait() == .seconds(600))
        bench.ask(.said(Self.open(nil)))
        #expect(bench.wait() == .seconds(3600))
        bench.ask(.said(Self.open(600, canExtend: true)))
        #expect(bench.wait() == .seconds(480))
    }

    @Test func anAPIThatFailsIsLeftAlone() {
        var waits: [Duration?] = []
        for _ in 1...9 {
            bench.ask(.failed)
            waits.append(bench.wait())
        }
        #expect(waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600].map { .seconds($0) })
        bench.ask(.said(Self.closed))
        _ = bench.wait()
        bench.ask(.failed)
        #expect(bench.wait() == .seconds(60), "it has answered since")
    }

    /// The DHCP client may be late; that there is nothing is looked at without a packet.
    @Test func anAddressThatIsNotReportedIsAskedForLessOften() {
        var waits: [Duration?] = []
        for _ in 1...7 {
            bench.ask(.nowhere)
            waits.append(bench.wait())
        }
        #expect(waits == [2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    }

    @Test func whatRemainsIsWhatWasSaidMinusWhatHasPassed() {
        bench.ask(.said(Self.open(600, bytes: 9000)))
        bench.pass(.milliseconds(90_900))
        #expect(bench.state?.secondsRemaining == 510)
        #expect(bench.state?.bytesRemaining == 9000)
        bench.pass(.seconds(509))
        #expect(bench.state?.secondsRemaining == 1)
        bench.pass(.seconds(1))
        #expect(bench.state == nil, "the session is over, and nothing else was said")
    }

    @Test(arguments: [CaptivePortalPoll.Answer.failed, .nowhere, .postponed(until: start + .seconds(7))])
    func whatWasSaidStandsThoughAQuestionFails(answer: CaptivePortalPoll.Answer) {
        bench.ask(.said(Self.closed))
        bench.pass(.seconds(60))
        bench.ask(answer)
        #expect(bench.state?.isCaptive == true)
        bench.pass(.seconds(7140))
        #expect(bench.state == nil, "and not for ever")
    }

    @Test func aQuestionUnderWayWipesNothing() {
        bench.ask(.said(Self.open(600)))
        let late = bench.begin()
        #expect(bench.state?.secondsRemaining == 600 && bench.course.next == nil)
        bench.doubt()
        bench.end(late, .said(Self.closed))
        #expect(bench.state?.isCaptive == false, "the answer is to what was asked before")
        #expect(bench.course.next == bench.now)
    }

    /// After a sign-in, an old answer does not say that the device is not signed in.
    @Test func afterASignInTheOldWordCountsForLess() {
        bench.ask(.said(Self.closed))
        bench.doubt()
        #expect(bench.course.isDoubted && bench.course.next == bench.now && bench.state == nil)
        bench.ask(.failed)
        #expect(bench.state == nil && !bench.course.isDoubted)
        bench.ask(.said(Self.open(600)))
        bench.doubt()
        bench.ask(.failed)
        #expect(bench.state?.secondsRemaining == 600)
        bench.doubt()
        bench.ask(.said(Self.closed))
        #expect(bench.state?.isCaptive == true)
    }

    @Test func theBudgetPutsItOff() {
        bench.ask(.postponed(until: bench.now + .seconds(45)))
        #expect(bench.wait() == .seconds(45))
        bench.ask(.postponed(until: bench.now))
        #expect(bench.wait() == .seconds(10), "nor is it asked without a pause")
    }

    @Test func anEndThatCanBePutOffIsToldOnce() {
        bench.ask(.said(Self.open(600, canExtend: true)))
        #expect(!bench.takesExtension())
        bench.pass(.seconds(480))
        bench.ask(.said(Self.open(120, canExtend: true)))
        #expect(bench.takesExtension())
        bench.doubt()
        bench.ask(.said(Self.open(119, canExtend: true)))
        #expect(!bench.takesExtension(), "the provider has tried")
        bench.ask(.said(Self.open(3600, canExtend: true)))
        #expect(!bench.takesExtension())
        bench.pass(.seconds(3500))
        bench.ask(.said(Self.open(100, canExtend: true)))
        #expect(bench.takesExtension(), "another end")
    }
}
