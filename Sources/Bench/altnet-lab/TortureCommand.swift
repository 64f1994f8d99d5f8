import ArgumentParser
import KeyFileSimulation

struct TortureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture", abstract: "Tests the key file with power cuts at every write.",
        discussion: """
            The store runs on simulated files and flash chips. At every operation that changes something, the command \
            copies each state that a power cut could leave, torn writes included. It starts each copy again, with a \
            second cut during the recovery. The copy must hold the last acknowledged state. A failure names the seed \
            that repeats it.
            """)

    @Option(help: "The number of power cuts.")
    var cuts = 1_000_000

    @Option(help: "The seed: the same number gives the same run.")
    var seed: UInt64 = 1

    @OptionGroup
    private var parallel: JobsOption

    @Option(help: "Use only this kind of storage, to repeat a failure.")
    var scenario: Scenario?

    func validate() throws {
        if cuts < 1 { throw ValidationError("--cuts must be at least 1") }
    }

    func run() async throws {
        do {
            try await cutPower()
            if scenario == nil { try await flipBits() }
        } catch let failure as PowerCutRun.Failure {
            print("FAILED: \(failure)")
            throw ExitCode(1)
        } catch let failure as BitFlips.Failure {
            print("FAILED: flipped bits, seed \(seed), \(failure)")
            throw ExitCode(1)
        }
    }

    private func cutPower() async throws {
        let start = ContinuousClock.now
        let scenarios = scenario.map { [$0] } ?? Scenario.allCases
        var tally = TortureTally(wanted: cuts)
        defer { tally.endProgress() }
        try await withThrowingTaskGroup(of: (Scenario, PowerCutRun.Totals).self) { group in
            var begun = 0
            func begin() {
                let scenario = scenarios[begun % scenarios.count]
                let seed = seed &+ UInt64(begun)
                begun += 1
                let cuts = min(cuts, Self.cutsOfALife)
                group.addTask { (scenario, try Self.life(scenario, seed: seed, cuts: cuts)) }
            }
            for _ in 0..<parallel.jobs { begin() }
            while let (scenario, totals) = try await group.next() {
                tally.add(totals, of: scenario)
                if !tally.isDone { begin() }
            }
        }
        tally.printTable(took: ContinuousClock.now - start)
    }

    /// Flips each bit of the key file's files, one at a time.
    private func flipBits() async throws {
        let flips = try BitFlips(seed: seed)
        var totals = BitFlips.Totals()
        try await withThrowingTaskGroup(of: BitFlips.Totals.self) { group in
            for job in 0..<parallel.jobs {
                let (jobs, seed) = (parallel.jobs, seed)
                group.addTask { try BitFlips(seed: seed).flip(stride(from: job, to: flips.bits.count, by: jobs)) }
            }
            for try await more in group { totals += more }
        }
        print(
            "\(totals.flips) flipped bits: \(totals.corrected) corrected, \(totals.fellBack) left an earlier state and "
                + "were reported, \(totals.unused) hold nothing.")
    }

    /// Maximum number of power cuts of one simulated device.
    private static let cutsOfALife = 20_000

    private static func life(_ scenario: Scenario, seed: UInt64, cuts: Int) throws -> PowerCutRun.Totals {
        let run = try PowerCutRun(scenario, seed: seed)
        try run.run(cuts: cuts)
        return run.totals
    }
}

extension Scenario: ExpressibleByArgument {}

private struct TortureTally {
    let wanted: Int
    private var totals: [Scenario: PowerCutRun.Totals] = [:]
    private var sum = PowerCutRun.Totals()
    private var progress: Progress

    init(wanted: Int) {
        self.wanted = wanted
        progress = Progress("of \(wanted) power cuts", wanted: Double(wanted))
    }

    var isDone: Bool { sum.allCuts >= wanted }

    mutating func add(_ more: PowerCutRun.Totals, of scenario: Scenario) {
        totals[scenario, default: PowerCutRun.Totals()] += more
        sum += more
        progress.add(Double(more.allCuts))
    }

    func endProgress() { progress.end() }

    func printTable(took time: Duration) {
        printRow("", ["cuts", "second cuts", "kills", "commits", "key changes", "openings"])
        for scenario in Scenario.allCases { printRow("\(scenario)", totals[scenario, default: .init()].figures) }
        printRow("all", sum.figures)
        let rate = Double(sum.allCuts) / (Double(time.components.seconds) + 1)
        print(
            "\(sum.allCuts) power cuts in \(time.components.seconds) s (\(Int(rate * 60)) a minute): "
                + "nothing acknowledged was lost, nothing deleted came back, nothing was half written.")
    }

    private func printRow(_ name: String, _ figures: [String]) {
        func padded(_ text: String, to width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        print(name + padded("", to: 16 - name.count) + figures.map { padded($0, to: 13) }.joined())
    }
}

extension PowerCutRun.Totals {
    fileprivate var figures: [String] { [cuts, secondCuts, kills, commits, keyChanges, openings].map(String.init) }
}
