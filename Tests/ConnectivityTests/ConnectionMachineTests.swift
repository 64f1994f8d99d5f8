import AgentModel
import Randomness
import Testing

@testable import Connectivity

struct ConnectionMachineTests {
    private typealias Machine = ConnectionMachine

    private let settings = Reconnection()

    @Test func waitsUntilThereIsAWay() {
        var run = MachineRun()
        #expect(run.status == ConnectionStatus(state: .setup, since: run.start))
        #expect(run.handle(.network) == [.report(run.status), .open(attempt: 1, limit: .seconds(10))])
        #expect(run.status.state == .preparing)
        run.now = run.now + .seconds(3)
        var effects = run.handle(.ended(attempt: 1, .connectionRefused))
        #expect(effects == [.report(run.status), .wake(at: run.pauseEnd)])
        #expect(run.status == ConnectionStatus(state: .waiting, reason: .connectionRefused, since: run.now))
        let since = run.now

        run.now = run.pauseEnd
        #expect(run.handle(.timer) == [.open(attempt: 2, limit: .seconds(10))], "trying again is no news")
        run.now = run.now + .seconds(1)
        effects = run.handle(.ended(attempt: 2, .connectionRefused))
        #expect(effects == [.wake(at: run.pauseEnd)], "nor is the same failure")
        run.now = run.pauseEnd
        _ = run.handle(.timer)
        effects = run.handle(.ended(attempt: 3, .timedOut))
        #expect(effects.first == .report(ConnectionStatus(state: .waiting, reason: .timedOut, since: since)))

        run.now = run.pauseEnd
        _ = run.handle(.timer)
        #expect(run.handle(.opened(attempt: 4)) == [.report(ConnectionStatus(state: .ready, since: run.now))])
    }

    @Test func whatBreaksIsDoubtedOnceAndFailedUntilItIsReadyAgain() {
        var run = MachineRun.ready()
        run.now = run.now + .seconds(100)
        let effects = run.handle(.ended(attempt: 1, .timedOut))
        #expect(effects == [.report(run.status), .doubt(.timedOut), .wake(at: run.pauseEnd)])
        #expect(run.status == ConnectionStatus(state: .failed, reason: .timedOut, since: run.now))
        let since = run.now
        run.now = run.pauseEnd
        _ = run.handle(.timer)
        let again = run.handle(.ended(attempt: 2, .unreachable))
        #expect(again.first == .report(ConnectionStatus(state: .failed, reason: .unreachable, since: since)))
        #expect(!again.contains(.doubt(.unreachable)))
        #expect(run.handle(.ended(attempt: 2, .unreachable)).isEmpty, "too late")
    }

    @Test func aServerThatEndsWhatIsIdleHasNotFailed() {
        var run = MachineRun.ready()
        run.now = run.now + settings.settled
        #expect(run.handle(.ended(attempt: 1, nil)) == [.open(attempt: 2, limit: .seconds(10))])
        #expect(run.status.state == .ready)
        #expect(run.handle(.opened(attempt: 2)).isEmpty)

        run.now = run.now + settings.settled
        _ = run.handle(.ended(attempt: 2, nil))
        let lost = run.handle(.ended(attempt: 3, .connectionRefused))
        #expect(lost.prefix(2) == [.report(run.status), .doubt(.connectionRefused)])
        #expect(run.status.state == .failed)
    }

    @Test func aServerThatEndsAtOnceIsNotPestered() {
        var run = MachineRun.ready()
        var pauses: [Duration] = []
        for attempt in 1...12 {
            let effects = run.handle(.ended(attempt: attempt, nil))
            #expect(effects == [.wake(at: run.pauseEnd)])
            pauses.append(run.pauseEnd - run.now)
            run.now = run.pauseEnd
            #expect(run.handle(.timer) == [.open(attempt: attempt + 1, limit: .seconds(10))])
            #expect(run.handle(.opened(attempt: attempt + 1)).isEmpty, "it was ready all the time")
        }
        // For every chance, the pauses are those of the greatest chance.
        #expect(pauses == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30].map { .seconds($0) })
    }

    // covers: seed/connection-restart
    @Test func pausesGrowAndAreForgottenOnceItLasted() {
        var run = MachineRun()
        _ = run.handle(.network)
        for (attempt, ceiling) in zip(1..., [1, 2, 4, 8, 16, 32, 60, 60]) {
            _ = run.handle(.ended(attempt: attempt, .timedOut))
            #expect(run.pauseEnd - run.now == .seconds(ceiling))
            run.now = run.pauseEnd
            _ = run.handle(.timer)
        }
        _ = run.handle(.opened(attempt: 9))
        run.now = run.now + settings.settled - .milliseconds(1)
        _ = run.handle(.ended(attempt: 9, .connectionReset))
        #expect(run.pauseEnd - run.now == .seconds(60), "that did not last")
        run.now = run.pauseEnd
        _ = run.handle(.timer)
        _ = run.handle(.opened(attempt: 10))
        run.now = run.now + settings.settled
        _ = run.handle(.ended(attempt: 10, .connectionReset))
        #expect(run.pauseEnd - run.now == .seconds(1))
    }

    // covers: seed/connection-restart
    @Test func aCancelledConnectionStartsAgainWithBackOff() {
        var run = MachineRun.ready()
        run.now = run.now + .seconds(3)
        #expect(run.handle(.cancel) == [.drop(attempt: 1), .report(run.status), .wake(at: run.pauseEnd)])
        #expect(run.status == ConnectionStatus(state: .cancelled, since: run.now))
        #expect(run.pauseEnd - run.now == .seconds(1))
        #expect(run.handle(.cancel) == [.wake(at: run.pauseEnd)])
        #expect(run.pauseEnd - run.now == .seconds(2))
        run.now = run.pauseEnd
        #expect(run.handle(.timer) == [.report(run.status), .open(attempt: 2, limit: .seconds(10))])
        #expect(run.status == ConnectionStatus(state: .preparing, since: run.now))
        _ = run.handle(.opened(attempt: 2))
        run.now = run.now + settings.settled
        _ = run.handle(.cancel)
        #expect(run.pauseEnd - run.now == .seconds(1), "the last one was settled")
        #expect(run.handle(.stop).isEmpty && run.status.state == .cancelled)
        #expect(run.handle(.network).isEmpty && run.handle(.cancel).isEmpty, "it has been stopped")

        var idle = MachineRun()
        #expect(idle.handle(.cancel) == [.report(idle.status)])
        #expect(idle.handle(.network) == [.report(idle.status), .open(attempt: 1, limit: .seconds(10))])
    }

    @Test func chanceShortensPausesDownToNothing() {
        var shortest = Duration.seconds(60)
        var longest = Duration.zero
        var random = SeededRandom(seed: 1)
        for _ in 0..<1000 {
            var machine = ConnectionMachine(settings: settings, now: Instant(milliseconds: 0))
            _ = machine.handle(.network, at: Instant(milliseconds: 0), using: &random)
            _ = machine.handle(.ended(attempt: 1, .timedOut), at: Instant(milliseconds: 0), using: &random)
            guard case .pausing(let end) = machine.phase else { preconditionFailure("no pause") }
            shortest = min(shortest, .milliseconds(end.milliseconds))
            longest = max(longest, .milliseconds(end.milliseconds))
        }
        #expect(shortest < .milliseconds(20) && longest > .milliseconds(980) && longest <= .seconds(1))
    }

    @Test func anotherNetworkIsTriedAtOnceAndWithoutItsPast() {
        var run = MachineRun.ready()
        #expect(
            run.handle(.network) == [.drop(attempt: 1), .report(run.status), .open(attempt: 2, limit: .seconds(10))])
        #expect(run.status.state == .preparing)
        #expect(run.handle(.ended(attempt: 1, .connectionReset)).isEmpty, "that was the old one")
        #expect(run.handle(.network) == [.drop(attempt: 2), .open(attempt: 3, limit: .seconds(10))])
        _ = run.handle(.ended(attempt: 3, .timedOut))
        #expect(run.status.state == .waiting, "in this network it was never ready")
        #expect(run.handle(.noNetwork) == [.report(run.status)])
        #expect(run.status.reason == .noAddress)
        #expect(run.handle(.timer).isEmpty)
        #expect(run.handle(.hurry(limit: .seconds(1))).isEmpty)
        #expect(run.handle(.noNetwork).isEmpty)
    }

    @Test func aHurryEndsThePauseAndAHangingAttempt() {
        var run = MachineRun()
        _ = run.handle(.network)
        _ = run.handle(.ended(attempt: 1, .timedOut))
        #expect(run.handle(.hurry(limit: .seconds(2))) == [.open(attempt: 2, limit: .seconds(2))])
        run.now = run.now + .milliseconds(1999)
        #expect(run.handle(.hurry(limit: .seconds(2))).isEmpty, "that attempt is young")
        run.now = run.now + .milliseconds(1)
        #expect(
            run.handle(.hurry(limit: .seconds(20))).isEmpty
                && run.handle(.hurry(limit: .seconds(2))) == [.drop(attempt: 2), .open(attempt: 3, limit: .seconds(2))])
        _ = run.handle(.opened(attempt: 3))
        #expect(run.handle(.hurry(limit: .seconds(2))).isEmpty)
    }

    /// A handshake may take longer than those have who ask; then it is theirs to ask again, and not to begin it anew.
    @Test func aHurryLeavesAConnectedAttempt() {
        var run = MachineRun()
        _ = run.handle(.network)
        #expect(run.handle(.connected(attempt: 1)).isEmpty)
        run.now = run.now + .seconds(9)
        #expect(run.handle(.hurry(limit: .seconds(2))).isEmpty)
        #expect(run.handle(.opened(attempt: 1)) == [.report(run.status)])
        #expect(run.status.state == .ready)
        _ = run.handle(.ended(attempt: 1, .connectionReset))
        #expect(run.handle(.hurry(limit: .seconds(2))) == [.open(attempt: 2, limit: .seconds(2))])
        run.now = run.now + .seconds(2)
        #expect(run.handle(.connected(attempt: 1)).isEmpty, "that was another one")
        #expect(run.handle(.hurry(limit: .seconds(2))).first == .drop(attempt: 2))
    }

    /// The name may lead elsewhere next time; that is told although it was ready all the time.
    @Test func whereItIsReadyIsTold() {
        var run = MachineRun()
        _ = run.handle(.network)
        _ = run.handle(.opened(attempt: 1, isFar: true))
        #expect(run.status == ConnectionStatus(state: .ready, isFar: true, since: run.now))
        let since = run.now
        run.now = run.now + settings.settled
        _ = run.handle(.ended(attempt: 1, nil))
        #expect(run.status.isFar, "it lets the device in again, as far as is known")
        #expect(run.handle(.opened(attempt: 2, isFar: true)).isEmpty)
        run.now = run.now + settings.settled
        _ = run.handle(.ended(attempt: 2, nil))
        #expect(run.handle(.opened(attempt: 3)) == [.report(ConnectionStatus(state: .ready, since: since))])
        _ = run.handle(.ended(attempt: 3, nil))
        _ = run.handle(.timer)
        _ = run.handle(.ended(attempt: 4, .timedOut))
        #expect(!run.status.isFar)
    }

    @Test func aTimerThatIsEarlyIsSetAgain() {
        var run = MachineRun()
        _ = run.handle(.network)
        _ = run.handle(.ended(attempt: 1, .timedOut))
        run.now = run.pauseEnd - .milliseconds(1)
        #expect(run.handle(.timer) == [.wake(at: run.pauseEnd)])
    }

    /// Every history of six events, and every promise after each of them.
    // covers: seed/connection-states
    @Test func promisesHoldInEveryHistory() {
        func go(on run: WatchedMachine, depth: Int) {
            guard depth > 0 else { return }
            for event in run.possibleEvents {
                var next = run
                next.handle(event, after: .seconds(4))
                if let broken = next.broken {
                    Issue.record("\(broken): \(next.history)")
                    return
                }
                go(on: next, depth: depth - 1)
            }
        }
        go(on: WatchedMachine(seed: 0), depth: 6)
    }

    @Test func promisesHoldInLongHistories() {
        var random = SeededRandom(seed: 99)
        for seed in 0..<300 {
            var run = WatchedMachine(seed: UInt64(seed))
            for _ in 0..<300 where run.broken == nil {
                guard let event = run.possibleEvents.randomElement(using: &random) else { break }
                // The end is rare, or there would be no long histories.
                if event == .stop, Int.random(in: 0..<50, using: &random) != 0 { continue }
                run.handle(event, after: .milliseconds(Int64.random(in: 0...20_000, using: &random)))
            }
            #expect(run.broken == nil, "\(run.history.suffix(5))")
        }
    }
}

/// A machine, the time, and a chance that is always the greatest.
struct MachineRun {
    let start = Instant(milliseconds: 1_000_000)
    var now = Instant(milliseconds: 1_000_000)
    private(set) var machine: ConnectionMachine
    private var chance = GreatestChance()

    init() { machine = ConnectionMachine(settings: Reconnection(), now: start) }

    /// Connected by the first attempt.
    static func ready() -> MachineRun {
        var run = MachineRun()
        _ = run.handle(.network)
        _ = run.handle(.opened(attempt: 1))
        return run
    }

    var status: ConnectionStatus { machine.status }

    var pauseEnd: Instant {
        guard case .pausing(let end) = machine.phase else { preconditionFailure("no pause: \(machine.phase)") }
        return end
    }

    mutating func handle(_ event: ConnectionMachine.Event) -> [ConnectionMachine.Effect] {
        machine.handle(event, at: now, using: &chance)
    }
}

private struct GreatestChance: RandomNumberGenerator {
    func next() -> UInt64 { .max }
}

/// A machine whose effects are checked against its promises.
struct WatchedMachine {
    private(set) var broken: String?
    private(set) var history: [ConnectionMachine.Event] = []
    private var machine: ConnectionMachine
    private var random: SeededRandom
    private var now = Instant(milliseconds: 0)
    /// The one attempt, or the connection that it led to.
    private var attempt: Int?
    private var lastAttempt = 0
    private var wake: Instant?

    init(seed: UInt64) {
        machine = ConnectionMachine(settings: Reconnection(), now: now)
        random = SeededRandom(seed: seed)
    }

    /// Also such as come too late.
    var possibleEvents: [ConnectionMachine.Event] {
        [
            .network, .noNetwork, .hurry(limit: .seconds(2)), .timer, .connected(attempt: lastAttempt),
            .opened(attempt: lastAttempt, isFar: lastAttempt % 2 == 1),
            .ended(attempt: lastAttempt, .timedOut), .ended(attempt: lastAttempt, nil),
            .ended(attempt: lastAttempt - 1, .connectionReset), .cancel, .stop,
        ]
    }

    mutating func handle(_ event: ConnectionMachine.Event, after time: Duration) {
        now = now + time
        history.append(event)
        let (before, isStopped) = (machine.status, machine.phase == .stopped)
        var told: [ConnectionStatus] = []
        var doubts = 0
        if case .ended(attempt, _) = event { attempt = nil }
        for effect in machine.handle(event, at: now, using: &random) {
            switch effect {
            case .open(let number, let limit):
                check(attempt == nil, "one attempt at a time")
                check(number > lastAttempt, "no number twice")
                check(limit > .zero && limit <= .seconds(10), "an attempt ends")
                (attempt, lastAttempt) = (number, number)
            case .drop(let number):
                check(attempt == number, "only what is there is dropped")
                attempt = nil
            case .wake(let end):
                check(end >= now && end <= now + .seconds(60), "pauses are bounded")
                wake = end
            case .report(let status): told.append(status)
            case .doubt: doubts += 1
            }
        }
        let after = machine.status
        check(told.count <= 1 && (told.first ?? before) == after, "each change is told once")
        check(told.isEmpty == (before == after), "nothing else is told")
        check(after.since == (before.state == after.state ? before.since : now), "since when")
        check((doubts == 1) == (before.state == .ready && after.state == .failed), "doubt")
        check((after.reason != nil) == [.waiting, .failed].contains(after.state), "a reason where there is one")
        check(!isStopped || (after == before && attempt == nil), "the end is the end")
        switch machine.phase {
        case .idle: check(attempt == nil && [.setup, .waiting, .cancelled].contains(after.state), "nothing to do")
        case .stopped: check(attempt == nil && after.state == .cancelled, "nothing left")
        case .pausing(let end): check(attempt == nil && wake == end, "it is woken")
        case .opening, .open: check(attempt != nil, "something is going on")
        }
        if case .open = machine.phase { check(after.state == .ready, "open is ready") }
    }

    private mutating func check(_ condition: Bool, _ promise: String) { if !condition { broken = broken ?? promise } }
}
