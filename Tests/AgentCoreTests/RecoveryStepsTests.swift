import AgentModel
import AppProtocol
import Failover
import Randomness
import Testing

@testable import AgentCore

/// What is done about a radio that does not work, in which order and how often.
@Suite struct RecoveryStepsTests {
    private typealias Step = RecoverySteps.Step

    /// A ladder whose steps end at once, and a clock that goes from moment to moment.
    private struct Board {
        var ladder: RecoverySteps
        var now = Instant(milliseconds: 100_000_000)
        var performed: [(Step, at: Instant)] = []

        init(
            reach: RecoverySteps.Reach = .driver, state: RecoverySteps.PersistentState = RecoverySteps.PersistentState()
        ) {
            ladder = RecoverySteps(reach: reach, state: state)
        }

        @discardableResult
        mutating func review(_ fault: RecoverySteps.Fault?, isOnline: Bool = false) -> [RecoverySteps.Effect] {
            let outputs = ladder.review(fault, isOnline: isOnline, at: now)
            for case .perform(let step, _) in outputs {
                performed.append((step, now))
                ladder.ended(step, at: now)
            }
            return outputs
        }

        /// The fault stays for so long.
        mutating func run(_ fault: RecoverySteps.Fault, for time: Duration, isOnline: Bool = false) {
            let end = now + time
            review(fault, isOnline: isOnline)
            while let next = ladder.nextWake, next <= end {
                now = max(now + .milliseconds(1), next)
                review(fault, isOnline: isOnline)
            }
            now = end
        }

        var steps: [Step] { performed.map(\.0) }
    }

    @Test func eachFaultHasItsSteps() {
        let expected: [(RecoverySteps.Fault, [Step])] = [
            (.scansRefused, [.abort, .disconnect, .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner]),
            (.mute, [.cycleInterface, .rebindDriver, .tellOwner]),
            (.joinsFail, [.disconnect, .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner]),
            (.missing, [.rebindDriver, .tellOwner]),
            (.carriesNothing, [.renewAddress, .reassociate, .cycleInterface, .tellOwner, .renewAddress]),
        ]
        for (fault, steps) in expected {
            var board = Board()
            board.run(fault, for: .seconds(900))
            #expect(board.steps == steps, "\(fault)")
        }
    }

    @Test func theOwnerSaysHowFarItGoes() {
        let expected: [(RecoverySteps.Reach, [Step])] = [
            (.none, []), (.interface, [.cycleInterface, .tellOwner]),
            (.driver, [.cycleInterface, .rebindDriver, .tellOwner]),
            (.reboot, [.cycleInterface, .rebindDriver, .tellOwner, .reboot]),
        ]
        for (reach, steps) in expected {
            var board = Board(reach: reach)
            board.run(.mute, for: .seconds(1500))
            #expect(board.steps == steps, "\(reach)")
        }
    }

    /// A fault that ends by itself costs nothing.
    @Test func itWaitsFirst() {
        var board = Board()
        board.run(.scansRefused, for: .seconds(59))
        #expect(board.performed.isEmpty)
        let outputs = board.review(nil)
        #expect(outputs == [.cured(.scansRefused, after: .seconds(59), steps: 0)])
        #expect(board.ladder.nextWake == nil)
    }

    /// While data flow there is time.
    @Test func aLinkThatCarriesTrafficIsGivenMoreTime() {
        var board = Board()
        board.run(.scansRefused, for: .seconds(599), isOnline: true)
        #expect(board.performed.isEmpty)
        board = Board()
        board.run(.mute, for: .seconds(59), isOnline: true)
        #expect(board.performed.isEmpty)
    }

    @Test func aStepThatHelpsIsTheLast() {
        var board = Board()
        board.run(.mute, for: .seconds(25))
        #expect(board.steps == [.cycleInterface])
        board.now = board.now + .seconds(5)
        let outputs = board.review(nil)
        #expect(outputs == [.cured(.mute, after: .seconds(30), steps: 1)])
        board.run(.mute, for: .seconds(10))
        #expect(board.steps == [.cycleInterface], "and the next fault is waited for again")
    }

    /// What was done a moment ago did not help for long: the next step is taken, not the same again.
    @Test func aFaultThatComesBackGetsTheNextStep() {
        var board = Board()
        board.run(.mute, for: .seconds(21))
        board.review(nil)
        board.now = board.now + .seconds(60)
        board.run(.mute, for: .seconds(21))
        #expect(board.steps == [.cycleInterface, .rebindDriver])
    }

    /// A day of one fault.
    @Test(arguments: RecoverySteps.Fault.allCases)
    func itIsNeverALoop(fault: RecoverySteps.Fault) {
        var board = Board(reach: .reboot)
        board.run(fault, for: .seconds(86_400))
        let counts = Dictionary(grouping: board.steps, by: \.self).mapValues(\.count)
        #expect(board.performed.count <= 24 * 6)
        #expect((counts[.rebindDriver] ?? 0) <= 24)
        #expect((counts[.reboot] ?? 0) == (fault == .carriesNothing ? 0 : 1))
        #expect((counts[.tellOwner] ?? 0) <= 4)
    }

    /// Whatever faults come and go, no step is taken sooner than its interval after the last of its kind.
    @Test func noStepComesTooOften() {
        for seed in 0..<UInt64(Rounds.of(200)) {
            var random = SeededRandom(seed: seed)
            var board = Board(reach: .reboot)
            var last: [Step: Instant] = [:]
            for _ in 0..<2000 {
                board.now = board.now + .milliseconds(Int64.random(in: 1...120_000, using: &random))
                let fault =
                    Int.random(in: 0..<4, using: &random) == 0
                    ? nil : RecoverySteps.Fault.allCases.randomElement(using: &random)
                for case .perform(let step, _) in board.ladder.review(
                    fault, isOnline: Bool.random(using: &random), at: board.now)
                {
                    if let before = last[step] { #expect(board.now - before >= step.interval) }
                    last[step] = board.now
                    if Int.random(in: 0..<8, using: &random) > 0 { board.ladder.ended(step, at: board.now) }
                }
                if let wake = board.ladder.nextWake, fault != nil { #expect(wake > board.now) }
            }
        }
    }

    /// A chip that needs to be without power does not come back, and its driver is not bound again and again.
    @Test func aRadioThatDoesNotComeBackIsBoundOnce() {
        var board = Board()
        board.run(.mute, for: .seconds(40))
        #expect(board.steps.last == .rebindDriver)
        board.run(.missing, for: .seconds(86_400))
        #expect(board.steps.count { $0 == .rebindDriver } == 1)
        #expect(board.steps.contains(.tellOwner))
        #expect(board.ladder.state.needsPowerCycle)
        board.review(nil)
        #expect(!board.ladder.state.needsPowerCycle, "it is there again")
    }

    /// What was done before the agent was started anew counts.
    @Test func theMemoryOutlivesTheAgent() {
        var board = Board()
        board.run(.mute, for: .seconds(25))
        var next = Board(state: board.ladder.state)
        next.now = board.now
        next.run(.mute, for: .seconds(25))
        #expect(next.steps == [.rebindDriver])
    }

    // MARK: A link that carries nothing

    @Test func itsPausesGrowToAnHour() {
        var board = Board()
        let start = board.now
        board.run(.carriesNothing, for: .seconds(24_000))
        let times = board.performed.map { ($0.at - start).milliseconds / 1000 }
        #expect(Array(times.prefix(8)) == [60, 180, 300, 420, 840, 960, 1080, 1800])
        let rounds = board.performed.filter { $0.0 == .renewAddress }.map { ($0.at - start).milliseconds / 1000 }
        #expect(rounds == [60, 840, 1800, 3360, 6120, 10_080, 14_040, 18_000, 21_960])
    }

    @Test func onHoldNoStepIsTaken() {
        var ladder = RecoverySteps()
        var now = Instant(milliseconds: 1_000_000)
        func review(_ isOnHold: Bool, after time: Duration) -> [RecoverySteps.Effect] {
            now = now + time
            return ladder.review(.carriesNothing, isOnline: true, isOnHold: isOnHold, at: now)
        }
        #expect(review(true, after: .zero).isEmpty)
        #expect(review(true, after: .seconds(60)).isEmpty)
        #expect(ladder.nextWake == nil)
        #expect(review(false, after: .seconds(60)).isEmpty)
        #expect(review(false, after: .seconds(60)) == [.perform(.renewAddress, .carriesNothing)])
        ladder.ended(.renewAddress, at: now)
        // A short hold takes nothing of the time that a step has to help.
        #expect(review(true, after: .seconds(10)).isEmpty)
        #expect(review(false, after: .seconds(10)).isEmpty)
        #expect(ladder.nextWake == now + .seconds(100))
        #expect(ladder.review(nil, isOnline: true, at: now).count == 1)
        #expect(ladder.nextWake == nil)
    }

    @Test func anAddressOfAnotherProgramIsNotAskedFor() {
        var board = Board()
        board.ladder = RecoverySteps(excluding: [.renewAddress])
        board.run(.carriesNothing, for: .seconds(400))
        #expect(board.steps == [.reassociate, .cycleInterface, .tellOwner])
    }

    /// A step that hangs is one that did not help.
    @Test func aStepThatDoesNotEndIsNotWaitedForForEver() {
        var ladder = RecoverySteps()
        var now = Instant(milliseconds: 1_000_000)
        _ = ladder.review(.mute, isOnline: false, at: now)
        now = now + .seconds(20)
        #expect(ladder.review(.mute, isOnline: false, at: now) == [.perform(.cycleInterface, .mute)])
        now = now + .seconds(59)
        #expect(ladder.review(.mute, isOnline: false, at: now).isEmpty)
        now = now + .seconds(1)
        #expect(ladder.review(.mute, isOnline: false, at: now) == [.perform(.rebindDriver, .mute)])
    }
}

/// Firmware that answers nothing.
@Suite struct FirmwareWatchTests {
    private let start = Instant(milliseconds: 1_000_000)

    @Test func threeFailuresInARowOverASecondAreEnough() {
        var watch = FirmwareWatch()
        watch.failed(at: start)
        watch.failed(at: start + .milliseconds(500))
        #expect(!watch.isMute)
        watch.failed(at: start + .milliseconds(1000))
        #expect(watch.isMute)
    }

    @Test func anAnswerInBetweenSettlesIt() {
        var watch = FirmwareWatch()
        for second in 0..<20 {
            watch.failed(at: start + .milliseconds(second * 1000))
            watch.failed(at: start + .milliseconds(second * 1000 + 900))
            watch.succeeded()
        }
        #expect(!watch.isMute)
    }

    /// A burst of questions while a driver brings its firmware up is no proof.
    @Test func aBurstIsNoProof() {
        var watch = FirmwareWatch()
        for millisecond in 0..<50 { watch.failed(at: start + .milliseconds(millisecond)) }
        #expect(!watch.isMute)
    }

    /// On the device: asked every five seconds, on USB the first question fails after two seconds and all others at once.
    @Test func itIsNoticedWithinTenSeconds() throws {
        for phase in stride(from: 0, to: 5000, by: 250) {
            var bench = try CoreBench()
            bench.surroundings.stations["wlan0"]?.joinsByItself = true
            try bench.start()
            bench.now = bench.now + .milliseconds(phase)
            let hang = bench.now
            var isFirst = true
            while !bench.errors.contains(where: { $0.contains("answer commands") }), bench.now - hang < .seconds(20) {
                bench.now = max(bench.now, try #require(bench.timers[.radioCheck]))
                if bench.handle(.timer(.radioCheck)).contains("check radio wlan0") {
                    bench.now = bench.now + (isFirst ? .seconds(2) : .milliseconds(1))
                    isFirst = false
                    bench.handle(.radioAnswered("wlan0", false))
                }
            }
            #expect(bench.now - hang <= .seconds(10), "\(bench.now - hang)")
            #expect(bench.errors.count { $0.contains("answer commands") } == 1)
            bench.handle(.radioAnswered("wlan0", true))
            #expect(bench.notices.count { $0.contains("answers again") } == 1)
        }
    }

    /// A radio under mac80211 has no firmware that it would have to wait for, and is not asked.
    @Test func otherRadiosAreNotAsked() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.timers[.radioCheck] == nil)
    }
}

/// The ladder in the core: its effects, and what is told of them.
@Suite struct RecoveryTests {
    private func mute() throws -> CoreBench {
        var bench = try CoreBench()
        bench.surroundings.stations["wlan0"]?.joinsByItself = true
        try bench.start()
        for _ in 0..<3 {
            bench.now = bench.now + .milliseconds(500)
            bench.handle(.radioAnswered("wlan0", false))
        }
        return bench
    }

    @Test func aMuteFirmwareHasItsInterfaceSetDownAndUp() throws {
        var bench = try mute()
        let status = bench.core.status(at: ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 0)))
        #expect(status.radio?.fault == "mute" && status.radio?.step == nil)
        bench.now = try #require(bench.timers[.recovery])
        let effects = bench.handle(.timer(.recovery))
        #expect(effects.contains("cycleInterface wlan0") && effects.contains("remember recovery"))
        let after = bench.handle(.recoveryEnded(.cycleInterface, problem: nil))
        #expect(after.contains("restore radio wlan0"))
        #expect(bench.core.history(1).first?.kind.rawValue == "recovery")
        #expect(bench.core.history(1).first?.reason.rawValue == "mute")
        // It has helped.
        bench.handle(.radioAnswered("wlan0", true))
        #expect(bench.notices.contains { $0.contains("works again") })
        #expect(bench.timers[.recovery] == nil)
    }

    @Test func aStepThatCannotBeTakenIsTold() throws {
        var bench = try mute()
        bench.now = try #require(bench.timers[.recovery])
        bench.handle(.timer(.recovery))
        bench.handle(.recoveryEnded(.cycleInterface, problem: "Operation not permitted"))
        #expect(bench.warnings.contains { $0.contains("Operation not permitted") })
        bench.now = try #require(bench.timers[.recovery])
        #expect(bench.handle(.timer(.recovery)).contains("rebindDriver wlan0"))
    }

    @Test func anInterfaceThatDoesNotComeBackAfterThatNeedsPower() throws {
        var bench = try mute()
        for step in [RecoverySteps.Step.cycleInterface, .rebindDriver] {
            bench.now = try #require(bench.timers[.recovery])
            bench.handle(.timer(.recovery))
            bench.handle(.recoveryEnded(step, problem: nil))
        }
        bench.surroundings.stations["wlan0"]?.index = nil
        bench.surroundings.stations["wlan0"]?.hasLink = false
        bench.surroundings.stations["wlan0"]?.isLinkUp = false
        bench.handle(.radio("wlan0", .interfaceRemoved))
        for _ in 0..<3 {
            bench.now = try #require(bench.timers[.recovery])
            bench.handle(.timer(.recovery))
        }
        #expect(bench.errors.contains { $0.contains("power the device") }, "\(bench.errors)")
        #expect(bench.warnings.count { $0.contains("rebinding its driver") } == 1)
    }

    // MARK: A link that carries nothing

    /// Lets time pass. Probes end like this, scans show Home, and joins succeed.
    /// - Returns: the effects of the recovery.
    @discardableResult
    private func live(_ bench: inout CoreBench, for time: Duration, probes result: ProbeResult) -> [String] {
        let end = bench.now + time
        var waiting: [String] = []
        var all: [String] = []
        while true {
            if !waiting.isEmpty {
                let name = waiting.removeFirst()
                switch name {
                case "probe": waiting += bench.handle(.found(.probed(epoch: bench.probed, result)))
                case "join wlan0 Home": waiting += bench.connect("wlan0")
                case "renewAddress wlan0": waiting += bench.handle(.recoveryEnded(.renewAddress, problem: nil))
                case "cycleInterface wlan0": waiting += bench.handle(.recoveryEnded(.cycleInterface, problem: nil))
                case "leave wlan0": break
                default: continue
                }
                if name != "probe" { all.append(name) }
            } else if !bench.scans.isEmpty {
                waiting += bench.endScan(.finished([bench.bss("Home")]))
            } else if let next = bench.timers.min(by: { $0.value < $1.value }), next.value <= end {
                bench.now = max(bench.now, next.value)
                waiting += bench.handle(.timer(next.key))
            } else {
                bench.now = end
                return all
            }
        }
    }

    private func started(assignsAddresses: Bool = true) throws -> CoreBench {
        var bench = try CoreBench(assignsAddresses: assignsAddresses)
        try bench.start()
        live(&bench, for: .seconds(20), probes: .online)
        return bench
    }

    @Test func aLinkThatCarriesNothingIsRepairedInSteps() throws {
        var bench = try started()
        #expect(live(&bench, for: .seconds(50), probes: .failed).isEmpty)
        #expect(live(&bench, for: .seconds(60), probes: .failed) == ["renewAddress wlan0"])
        #expect(live(&bench, for: .seconds(120), probes: .failed) == ["leave wlan0", "join wlan0 Home"])
        #expect(live(&bench, for: .seconds(120), probes: .failed) == ["cycleInterface wlan0"])
        #expect(live(&bench, for: .seconds(120), probes: .failed).isEmpty)
        #expect(bench.errors.contains { $0.contains("the link of wlan0") && $0.contains("restart the router") })
        #expect(bench.core.history(50).count { $0.reason.rawValue == "carriesNothing" } == 4)
        #expect(bench.core.linkFault == "nothing gets through; nothing has helped")
        let status = bench.core.status(at: ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 0)))
        #expect(status.radio == nil && bench.core.radioFault == nil, "the radio is not to blame")
        live(&bench, for: .seconds(60), probes: .online)
        #expect(bench.notices.contains { $0.contains("the link of wlan0 works again") })
        #expect(bench.core.linkFault == nil)
        #expect(live(&bench, for: .seconds(1200), probes: .online).isEmpty)
    }

    @Test func aLoginPageIsNoLinkThatCarriesNothing() throws {
        var bench = try started()
        #expect(live(&bench, for: .seconds(600), probes: .captive).isEmpty)
    }

    @Test func besideAnotherUplinkNothingIsRepaired() throws {
        var bench = try started()
        live(&bench, for: .seconds(50), probes: .failed)
        bench.surroundings.otherUplink = .wired
        bench.handle(.route(.uplinkChanged(nil)))
        #expect(live(&bench, for: .seconds(600), probes: .failed).isEmpty)
    }

    @Test func whereAnotherProgramGetsTheAddressOnlyTheLinkIsMadeAgain() throws {
        var bench = try started(assignsAddresses: false)
        #expect(live(&bench, for: .seconds(110), probes: .failed) == ["leave wlan0", "join wlan0 Home"])
    }

    @Test func joinsThatFailOneAfterTheOtherAreTheRadios() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.supplicant("wlan0", .disconnected(reason: 0, locallyGenerated: true)))
        for _ in 0..<200 where !bench.warnings.contains(where: { $0.contains("cannot join any") }) {
            if !bench.scans.isEmpty {
                bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")]))
                continue
            }
            if let epoch = bench.core.policy.phase.epoch {
                bench.now = bench.now + .seconds(5)
                bench.handle(.supplicant("wlan0", .joinFailed(attempt: epoch, .timeout, detail: "status_code=16")))
            }
            bench.now = max(bench.now, bench.timers[.policy] ?? bench.now)
            bench.handle(.timer(.policy))
            if let due = bench.timers[.recovery], due <= bench.now { bench.handle(.timer(.recovery)) }
        }
        #expect(
            bench.warnings.contains { $0.contains("cannot join any") },
            "\(bench.core.recovery.joins), \(bench.core.policy.phase), \(bench.scans), \(bench.notices.suffix(8)), \(bench.now), \(bench.core.history(3).map { "\($0.text) \($0.candidates)" })"
        )
    }
}
