import AgentModel
import Randomness

@testable import Connectivity

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

    mutating func handle(_ input: ConnectionMachine.Input) -> [ConnectionMachine.Action] {
        machine.handle(input, at: now, using: &chance)
    }
}

private struct GreatestChance: RandomNumberGenerator {
    func next() -> UInt64 { .max }
}

/// A machine beside which somebody holds what it promises against what it does.
struct WatchedMachine {
    private(set) var broken: String?
    private(set) var history: [ConnectionMachine.Input] = []
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
    var possibleInputs: [ConnectionMachine.Input] {
        [
            .network, .noNetwork, .hurry(limit: .seconds(2)), .timer, .connected(attempt: lastAttempt),
            .opened(attempt: lastAttempt, isFar: lastAttempt % 2 == 1),
            .ended(attempt: lastAttempt, .timedOut), .ended(attempt: lastAttempt, nil),
            .ended(attempt: lastAttempt - 1, .connectionReset), .cancel,
        ]
    }

    mutating func handle(_ input: ConnectionMachine.Input, after time: Duration) {
        now = now + time
        history.append(input)
        let before = machine.status
        var told: [ConnectionStatus] = []
        var doubts = 0
        if case .ended(attempt, _) = input { attempt = nil }
        for action in machine.handle(input, at: now, using: &random) {
            switch action {
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
            case .tell(let status): told.append(status)
            case .doubt: doubts += 1
            }
        }
        let after = machine.status
        check(told.count <= 1 && (told.first ?? before) == after, "each change is told once")
        check(told.isEmpty == (before == after), "nothing else is told")
        check(after.since == (before.state == after.state ? before.since : now), "since when")
        check((doubts == 1) == (before.state == .ready && after.state == .failed), "doubt")
        check((after.reason != nil) == [.waiting, .failed].contains(after.state), "a reason where there is one")
        check(before.state != .cancelled || (after == before && attempt == nil), "the end is the end")
        switch machine.phase {
        case .idle: check(attempt == nil && [.setup, .waiting].contains(after.state), "nothing to do")
        case .cancelled: check(attempt == nil && after.state == .cancelled, "nothing left")
        case .pausing(let end): check(attempt == nil && wake == end, "somebody wakes it")
        case .opening, .open: check(attempt != nil, "something is going on")
        }
        if case .open = machine.phase { check(after.state == .ready, "open is ready") }
    }

    private mutating func check(_ condition: Bool, _ promise: String) { if !condition { broken = broken ?? promise } }
}
