import AgentModel
import ArgumentParser
import Failover
import PolicyProperties
import Simulation

struct EnduranceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endurance", abstract: "Runs the agent's core through weeks in a house that lives.",
        discussion: """
            Draws a life from a seed: routers that restart, outages of the provider, kills, power cuts, full disks and \
            more. The core lives it with its key file on simulated flash, and then on a simulated disk. The command \
            prints what it watched, and exits with 1 if something was not as promised. `make endurance` also plays \
            the life in the lab. Docs/results/endurance.md has the results.
            """)

    @Option(help: "Days of each life.")
    var days = 30

    @Flag(help: "Instead of days, live an hour with every fault.")
    var hour = false

    @Option(help: "The seed of the first life: the same number gives the same life.")
    var seed: UInt64 = 1

    @Option(help: "The number of lives; further lives use the next seeds.")
    var seeds = 1

    @Flag(help: "Print the life as text, and do not run it.")
    var show = false

    @Flag(help: "Print the grammar as a table, and do not run anything.")
    var grammar = false

    @Flag(help: "Print the figures as JSON.")
    var json = false

    func validate() throws {
        if !(1...366).contains(days) { throw ValidationError("--days must be 1 to 366") }
        if !(1...100_000).contains(seeds) { throw ValidationError("--seeds must be 1 to 100000") }
    }

    func run() async throws {
        if grammar { return print(EnduranceReport.grammar) }
        let lives = (0..<UInt64(seeds)).map { HouseLife(seed: seed &+ $0, hour ? .hour : .days(days)) }
        if show { return lives.forEach { print($0) } }
        var reports: [EnduranceReport] = []
        for life in lives {
            for isFlash in [true, false] { reports.append(try EnduranceReport(life, isFlash: isFlash)) }
        }
        if json {
            print(try JSONText.of(reports))
        } else {
            if hour {
                print(EnduranceReport.hours(reports))
            } else {
                for report in reports { print(report.markdown, terminator: "\n\n") }
            }
        }
        let failed = reports.filter { !$0.broken.isEmpty }
        for report in failed {
            for line in report.broken { print("FAILED: seed \(report.seed), \(report.storage): \(line)") }
        }
        if !failed.isEmpty { throw ExitCode(1) }
    }
}

/// Figures of a life with one kind of storage.
struct EnduranceReport: Codable {
    struct Verdict: Codable {
        let what: String
        let measured: String
        let bound: String
        let isKept: Bool
    }

    let seed: UInt64
    let storage: String
    private(set) var days: [EnduranceRun.Day] = []
    /// Elements in all of the core's collections, at the end of each day.
    private(set) var elements: [Int] = []
    private(set) var erasures: [Int] = []
    /// Longest outage of an hour while a sound network was there, in seconds.
    private(set) var longestOutage = 0.0
    private(set) var verdicts: [Verdict] = []
    /// Promises that were broken.
    private(set) var broken: [String] = []

    /// Erasures of a sector per day that a flash chip of 100,000 stands for ten years.
    private static let dailyErasures = 27.0
    /// Commits per hour of what was learned (Docs/contributor/key-file.md).
    private static let hourlyCommits = 3
    private static let longestOutage = 10.0

    init(_ life: HouseLife, isFlash: Bool) throws {
        (seed, storage) = (life.seed, isFlash ? "flash" : "file")
        let store = try SimulatedStore(isFlash: isFlash, seed: life.seed)
        let watch = PromiseWatch(try life.scenario().settings)
        var run = try EnduranceRun(life, store: store, onRecord: watch.record)
        let first = store.erasures
        let count = if case .days(let days) = life.span { days } else { 1 }
        for day in 1...count {
            days.append(run.runDay(until: Int64(life.span.seconds / count * day) * 1000))
            elements.append(countElements(of: run.core))
        }
        for day in days.indices { days[day].optimum = try EnduranceRun.optimum(life, day: day) }
        erasures = zip(store.erasures, first).map(-)
        broken = watch.broken + store.broken
        if life.span == .hour {
            judgeHour(life, run.outages())
        } else {
            judge()
        }
        broken += verdicts.filter { !$0.isKept }.map { "\($0.what): \($0.measured), not \($0.bound)" }
    }

    private mutating func judgeHour(_ life: HouseLife, _ outages: [Range<Int64>]) {
        for outage in outages {
            for time in life.soundTimes {
                let sound = Int64(time.lowerBound) * 1000..<Int64(time.upperBound) * 1000
                let part = outage.clamped(to: sound)
                guard Double(part.count) / 1000 > longestOutage else { continue }
                longestOutage = Double(part.count) / 1000
                guard longestOutage > Self.longestOutage else { continue }
                broken.append("\(longestOutage) s offline at \(part.lowerBound / 1000) s beside a sound network")
            }
        }
    }

    private mutating func judge() {
        // On the first day everything is new.
        let later = days.dropFirst()
        let memory = Trend(later.map { Double($0.memory) })
        let state = Trend(elements.dropFirst().map(Double.init))
        let orders = days.map(\.orders).reduce(0, +)
        let commits = days.map(\.commits).max() ?? 0
        let outage = days.map(\.outage).reduce(0, +)
        let optimum = days.map(\.optimum).reduce(0, +)
        let lines = days.map(\.logLines).max() ?? 0
        add(
            "memory, KiB a day", "\(memory.slope.fixed(1)) ± \(memory.error.fixed(1))", "flat, or at most 4",
            memory.isFlat(tolerance: 4))
        add(
            "elements of the core a day", "\(state.slope.fixed(2)) ± \(state.error.fixed(2))", "flat, or at most 1",
            state.isFlat(tolerance: 1))
        let timers = days.map(\.timers).max() ?? 0
        add("armed timers", "\(timers)", "at most 16", timers <= 16)
        add("log lines a day", "at most \(lines)", "at most 5000", lines <= 5000)
        let budget = Self.hourlyCommits * 24 + (days.map(\.orders).max() ?? 0) * 3
        add(
            "commits a day", "at most \(commits), with \(orders) commands in all", "at most \(budget)",
            commits <= budget)
        if let worst = erasures.max() {
            let daily = Double(worst) / Double(max(1, days.count))
            add(
                "erasures of a sector a day", daily.fixed(2), "at most \(Int(Self.dailyErasures))",
                daily <= Self.dailyErasures)
        }
        add(
            "outage beside the reacting optimum", "\(outage.fixed(0)) s, optimum \(optimum.fixed(0)) s",
            "at most twice the optimum plus 60 s a day", outage <= 2 * optimum + 60 * Double(days.count))
        add("promises, replay and key file", "\(broken.count) broken", "0 broken", broken.isEmpty)
    }

    private mutating func add(_ what: String, _ measured: String, _ bound: String, _ isKept: Bool) {
        verdicts.append(Verdict(what: what, measured: measured, bound: bound, isKept: isKept))
    }

    // MARK: Text

    var markdown: String {
        let head = "Seed \(seed), key file on \(storage):\n"
        let rows = verdicts.map {
            "| \($0.what) | \($0.measured) | \($0.bound) | \($0.isKept ? "kept" : "**missed**") |"
        }
        let titles = [
            "days", "outage, s", "optimum, s", "restarts", "events", "log lines", "commits", "KiB", "elements",
        ]
        let parts = stride(from: 0, to: days.count, by: 5).map { start -> [String] in
            let part = days[start..<min(start + 5, days.count)]
            func sum(_ value: (EnduranceRun.Day) -> Int) -> String { "\(part.map(value).reduce(0, +))" }
            return [
                "\(start + 1) to \(part.endIndex)", part.map(\.outage).reduce(0, +).fixed(0),
                part.map(\.optimum).reduce(0, +).fixed(0), sum(\.restarts), sum(\.events), sum(\.logLines),
                sum(\.commits), "\(part.last?.memory ?? 0)", "\(elements[part.endIndex - 1])",
            ]
        }
        return
            ([head, "| watched | measured | bound | |", "|---|---|---|---|"] + rows + [
                "", "| " + titles.joined(separator: " | ") + " |",
                "|---|" + titles.dropFirst().map { _ in "--:|" }.joined(),
            ] + parts.map { "| " + $0.joined(separator: " | ") + " |" }).joined(separator: "\n")
    }

    static func hours(_ reports: [Self]) -> String {
        let longest = reports.map(\.longestOutage).max() ?? 0
        let restarts = reports.flatMap(\.days).map(\.restarts).reduce(0, +)
        return "\(reports.count) hours: longest outage beside a sound network \(longest.fixed(1)) s, "
            + "\(restarts) restarts, \(reports.flatMap(\.broken).count) promises broken"
    }

    static var grammar: String {
        let rows = HouseLife.table.map { row in
            "| \(row.kind.rawValue) | \(row.daily.fixed(1)) | \(row.seconds.lowerBound) to \(row.seconds.upperBound) "
                + "| \(row.places.map(\.rawValue).joined(separator: ", ")) | \(row.simulated ?? "lab only") |"
        }
        return (["| happening | a day | seconds | where | in the simulator |", "|---|--:|--:|---|---|"] + rows)
            .joined(separator: "\n")
    }
}

/// Checks the promises of a policy while it runs, and that its record replays.
private final class PromiseWatch {
    private let settings: PolicySettings
    private var policy: WatchedPolicy?
    private(set) var broken: [String] = []

    init(_ settings: PolicySettings) { self.settings = settings }

    func record(_ event: PolicyEvent?, _ actions: [PolicyAction], at now: Instant) {
        guard let event else { return policy = WatchedPolicy(settings: settings, at: now) }
        do throws(Violation) {
            guard let again = try policy?.handle([event], at: now), again != actions else { return }
            report("at \(now): recorded \(actions), the replay decides \(again)")
        } catch {
            report("\(error)")
        }
        policy = nil
    }

    /// One is enough to find the rest, by a replay.
    private func report(_ problem: String) { if broken.count < 10 { broken.append(problem) } }
}
