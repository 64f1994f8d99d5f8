import AgentModel
import Failover
import Testing

/// A policy that asks to be woken in the past does not make the device spin.
@Suite struct WakeGuardTests {
    private var now = Instant(milliseconds: 1_000_000)
    private var watch = WakeGuard()

    /// The wait that a policy is given that asks for `wish`, counted from now.
    private mutating func given(_ wish: Duration?, isWoken: Bool = true) -> Duration? {
        watch.moment(for: wish.map { now + $0 }, at: now, isWoken: isWoken).map { $0 - now }
    }

    @Test mutating func theFutureIsServedAsItIs() {
        #expect(given(.milliseconds(1)) == .milliseconds(1))
        #expect(given(.seconds(3600), isWoken: false) == .seconds(3600))
        #expect(given(nil) == nil)
        #expect(watch == WakeGuard(), "nothing is counted")
    }

    // covers: rule/promise-wakes
    @Test(arguments: [Duration.zero, .seconds(-5), .seconds(-864_000)])
    mutating func thePastIsServedLessAndLessOften(_ wish: Duration) {
        var waits: [Duration?] = []
        for _ in 0..<8 {
            let wait = given(wish)
            waits.append(wait)
            now = now + (wait ?? .zero)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 32, 32].map { .seconds($0) })
        #expect(watch.count == 8)
    }

    @Test mutating func aWishForTheFutureEndsIt() {
        _ = given(.seconds(-1))
        _ = given(.seconds(-1))
        #expect(watch.isRepeated)
        _ = given(.seconds(1))
        #expect(!watch.isRepeated)
        #expect(given(.seconds(-1)) == .seconds(1))
        #expect(watch.count == 3)
    }

    /// The policy is woken although events come faster than the guard waits.
    @Test mutating func eventsDoNotPutItOff() {
        let due = given(.zero, isWoken: false).map { now + $0 }
        for _ in 0..<20 {
            now = now + .milliseconds(100)
            guard let due, now < due else { break }
            #expect(given(.seconds(-1), isWoken: false).map { now + $0 } == due)
        }
        #expect(now == due)
        // It was woken, and nothing has changed.
        #expect(given(.seconds(-1)) == .seconds(2))
        #expect(watch.isRepeated)
        // Something happens, which may have mended it.
        now = now + .milliseconds(10)
        #expect(given(.seconds(-1), isWoken: false) == .seconds(1))
        #expect(!watch.isRepeated)
    }

    @Test mutating func theLogIsToldOfTheFirstAndThenRarely() {
        var told: [Int] = []
        for count in 1...2000 {
            _ = given(.zero)
            if watch.isNews { told.append(count) }
        }
        #expect(told == [1, 10, 100, 1000])
        _ = given(.seconds(1))
        #expect(!watch.isNews)
    }

    /// A wait of the guard's is not taken for sleep.
    @Test func itsLongestWaitIsNoSleep() { #expect(WakeGuard.lastWait < PolicySettings().sleepSuspicion) }
}
