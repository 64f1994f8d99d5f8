import FoundationEssentials
import Testing

@testable import Lab

@Suite struct PlanTests {
    private func plan(
        _ trials: [String] = [], stacks: [StackName] = [], runs: Int = 5, time: Run.Time = .virtual, done: [Run] = []
    ) -> BenchmarkPlan {
        BenchmarkPlan(trials: trials, stacks: stacks, runs: runs, time: time, done: done)
    }

    @Test func everythingIsRunWithEveryStack() {
        let jobs = plan().jobs
        #expect(jobs.map(\.trial) == BenchmarkPlan.trials)
        #expect(jobs[0].wanted == [BenchmarkPlan.Wanted(stack: "floor", done: 0, count: 5)])
        #expect(jobs[1].wanted.map(\.stack) == ["altnet", "iwd", "wpa_supplicant", "NetworkManager", "ConnMan"])
    }

    @Test func aSecondStationIsPlayedWhereALivingLinkIsLeft() {
        let trials = plan(stacks: [.altnetSpare]).jobs.map(\.trial)
        #expect(trials == ["floor", "weak-signal", "home-returns", "command"])
    }

    @Test func theBeginningOfANameWillDo() {
        #expect(plan(["hard-loss-2.4"]).jobs.map(\.trial) == ["hard-loss-2.4-cn", "hard-loss-2.4-us"])
    }

    @Test func anHourOfWaitingIsNotForClockTime() {
        #expect(!plan(time: .clock).jobs.contains { $0.trial == "idle" })
        #expect(plan().jobs.contains { $0.trial == "idle" })
    }

    @Test func whatIsDoneIsNotRunAgain() {
        let done = [Run(trial: "restart", stack: "iwd", time: .virtual)]
        let jobs = plan(["restart"], stacks: [.iwd, .connMan], runs: 1, done: done).jobs
        #expect(jobs.map(\.wanted) == [[BenchmarkPlan.Wanted(stack: "ConnMan", done: 0, count: 1)]])
        #expect(plan(["restart"], stacks: [.iwd], runs: 1, done: done).jobs.isEmpty)
        #expect(
            plan(["restart"], stacks: [.iwd], runs: 3, done: done).jobs.map(\.wanted)
                == [[BenchmarkPlan.Wanted(stack: "iwd", done: 1, count: 2)]])
    }

    @Test func aRunThatFailedOrWasInOtherTimeIsRunAgain() {
        let done = [
            Run(trial: "restart", stack: "iwd", time: .virtual, failure: "it broke"),
            Run(trial: "restart", stack: "iwd", time: .clock),
        ]
        #expect(plan(["restart"], stacks: [.iwd], runs: 1, done: done).jobs.map(\.runs) == [1])
    }

    @Test func ofAltnetOnlyTheBuildThatIsThereCounts() {
        let old = Run(trial: "restart", stack: "altnet", time: .virtual).stamped(altnet: "1")
        let spare = Run(trial: "command", stack: "altnet-spare", time: .virtual).stamped(altnet: "1")
        let peer = Run(trial: "restart", stack: "iwd", time: .virtual).stamped(altnet: "1")
        #expect(peer.build == nil)
        #expect([old, spare, peer].current(altnet: "2") == [peer])
        #expect([old, peer].current(altnet: "1") == [old, peer])
        #expect([old, peer].current(altnet: nil) == [old, peer])
    }

    @Test func aRunIsALine() throws {
        let run = Run(
            trial: "restart", stack: "iwd", time: .clock,
            readings: [Reading(.restart, .value(2.5)), Reading(.coldStart, .never(limit: .seconds(60)))])
        let line = try run.line
        #expect(!line.contains("\n"))
        #expect(Run.runs(in: "\(line)\n\(line)\n{\"trial\":\"rest") == [run, run])
    }

    @Test func whatIsWantedIsToldToTheMachine() {
        let wanted = BenchmarkPlan.Wanted(stack: "iwd", done: 2, count: 3)
        #expect(wanted.description == "iwd=2+3")
        #expect(BenchmarkPlan.Wanted("iwd=2+3") == wanted)
        for text in ["iwd", "iwd=", "iwd=2", "iwd=2+0", "iwd=-1+2", "=2+x", "a=b=1+1"] {
            #expect(BenchmarkPlan.Wanted(text) == nil, "\(text)")
        }
    }

    @Test func runsAreKeptUntilTheyAreForgotten() throws {
        let folder = "/tmp/altnet-bench-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = RunStore(folder: folder)
        #expect(store.runs.isEmpty)
        let runs = ["iwd", "altnet", "iwd"].map { Run(trial: "restart", stack: $0, time: .virtual) }
        for run in runs { try RunStore.append(run, in: store.folder(of: "restart", in: .virtual)) }
        #expect(store.runs == runs)
        for job in plan(["restart"], stacks: [.iwd]).jobs { try store.forget(job, in: .virtual) }
        #expect(store.runs == [runs[1]])
    }

    @Test func everyFigureOfATrialIsInTheTableOrHeldAgainstAGoal() {
        let measured = Trial.all.flatMap(\.figures)
        #expect(Set(measured).count == measured.count)
        #expect(Set(Figure.compared).isSubset(of: measured))
    }
}
