import AgentModel
import Testing

@testable import Failover

/// Clocks that jump, machines that sleep, agents that end.
@Suite struct ClockTests {
    // covers: rule/time-clock
    @Test func aClockThatGoesBackHasNotGoneOn() {
        var bench = Bench.online([Bench.home, Bench.backup])
        let past = bench.now - .seconds(500)
        var policy = bench.policy
        #expect(policy.handle(.signal(-85), at: past).scans.map(\.reason) == [.weak])
        #expect(policy.handle(.linkLost(), at: past).decisions.first?.at == bench.now, "time has not gone back")
        bench.send(.linkLost())
        #expect(bench.take().decisions.first?.kind == .lost)
    }

    @Test func whatWasMeasuredBeforeSleepIsOld() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.measure(-85, for: .seconds(8))
        if bench.policy.scan != nil { bench.finishScan() }
        // It sleeps for an hour, wakes, and the first sample is bad again: that is no hour of weakness.
        bench.jump(by: .seconds(3600))
        bench.send(.resumed)
        bench.send(.signal(-85))
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -40)]))
        #expect(bench.target == Bench.home)
        bench.measure(-85, for: .seconds(12))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -40)]) }
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/time-sleep
    @Test func aJoinThatWasSleptOverGetsItsTime() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        bench.jump(by: .seconds(8 * 3600))
        bench.send(.tick)
        #expect(bench.target == Bench.home, "not a time-out: the device was asleep")
        bench.joinSucceeds()
        #expect(bench.isOnline)
    }

    @Test func afterSleepALostNetworkIsLookedForAtOnce() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.linkLost())
        while bench.policy.scan != nil { bench.finishScan() }
        bench.advance(by: .seconds(3600))
        while bench.policy.scan != nil { bench.finishScan() }
        bench.jump(by: .seconds(7200))
        _ = bench.take()
        bench.send(.resumed)
        #expect(bench.take().scans.map(\.reason) == [.offline])
    }

    // covers: rule/time-sleep
    @Test func afterSleepTheLinkIsMeasuredAndProbed() {
        var bench = UsefulnessTests.online([Bench.home])
        bench.jump(by: .seconds(3600))
        _ = bench.take()
        bench.send(.resumed)
        let actions = bench.take()
        #expect(actions.watches.count == 1 && actions.probes == 1)
    }

    @Test func nothingIsWantedAfterTheEnd() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.send(.stop)
        _ = bench.take()
        #expect(bench.policy.nextWake == nil)
        bench.send(.linkLost())
        bench.send(.scanned(id: 1, [bench.observation(Bench.backup, -40)]))
        bench.send(.switchTo(Bench.home.id, id: 2))
        bench.send(.tick)
        #expect(bench.take().isEmpty)
    }

    // covers: rule/time-simultaneous
    @Test func simultaneousEventsHaveNoOrder() {
        let events: [PolicyEvent] = [
            .signal(-85), .scanned(id: nil, [Bench.online().observation(Bench.backup, -50)]), .linkLost(),
            .switchTo(Bench.spare.id, id: 3), .otherUplink(.wired),
        ]
        var outcomes: Set<String> = []
        var orders = 0
        for first in events.indices {
            for second in events.indices where second != first {
                let rest = events.indices.filter { $0 != first && $0 != second }
                var policy = Bench.online().policy
                let order = ([first, second] + rest).map { events[$0] }
                outcomes.insert("\(policy.handle(order, at: Bench.online().now))")
                orders += 1
            }
        }
        #expect(orders == 20 && outcomes.count == 1)
    }
}
