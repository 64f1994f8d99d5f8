import Measuring

/// One run of everything.
///
/// What is counted (bytes, syncs, memory) comes from tracing each contestant in a process of its own. What is timed is
/// timed here, without a tracer, in rounds: each contestant makes a few updates, then the next one does, so that
/// whatever else the disk has to do hits all alike.
struct Benchmark {
    let scene: Scene
    /// Timed updates of each kind.
    let rounds: Int
    let updatesPerRound: Int
    /// Traced updates of each kind.
    let tracedUpdates: Int
    let openingCount: Int
    let tell: (String) -> Void

    /// Backup networks while updates are measured: altnet's default maximum, "a full list of 3".
    static let updateBackups = 3
    /// Backup networks while openings are measured: as many as there can be.
    static let openingBackups = 10
    /// Updates before openings are measured: enough for every sector of altnet's file to be in use.
    static let fillingUpdates = 400

    func run() throws -> Report {
        var updates: [UpdateResult] = []
        for kind in UpdateKind.allCases {
            tell("counting what each update writes and syncs: \(kind.rawValue)")
            let costs = try measuredCosts(kind)
            tell("timing updates, round by round: \(kind.rawValue)")
            let timings = try measuredTimings(kind, recordSize: Self.recordSize(costs))
            let append = timings[.append]?.median ?? .nan
            let overwrite = timings[.overwrite]?.median ?? .nan
            for entrant in Entrant.allCases {
                guard let cost = costs[entrant], let timing = timings[entrant] else { continue }
                updates.append(
                    UpdateResult(
                        entrant: entrant, kind: kind, timing: timing, timesAppend: timing.median / append,
                        timesOverwrite: timing.median / overwrite, cost: cost))
            }
        }
        tell("timing openings of full files")
        return try Report(updates: updates, openings: measuredOpenings(), fileSystem: FileSystem(of: scene.root))
    }

    /// The bytes of a bare write: those of an ordinary update of altnet's.
    private static func recordSize(_ costs: [Entrant: Cost]) -> Int { costs[.altnet]?.writtenMedian ?? 0 }

    private func measuredCosts(_ kind: UpdateKind) throws -> [Entrant: Cost] {
        var costs: [Entrant: Cost] = [:]
        for entrant in Entrant.allCases {
            let directory = try scene.directory("count-\(kind.rawValue)", entrant)
            let size = Self.recordSize(costs)
            let command = TracedUpdates.arguments(
                entrant, kind, updates: tracedUpdates, recordSize: size, directory: directory)
            let steps = try Trace(Strace.run(command, tracesIn: scene.root), directory: directory).steps
            guard steps.count == tracedUpdates else { throw BenchmarkError("\(steps.count) updates were traced") }
            // What is known beforehand shows that the counting is right.
            if entrant == .append, !steps.allSatisfy({ $0.syncs == 1 && $0.written == size }) {
                throw BenchmarkError("the trace of bare appends is not one write and one sync each")
            }
            costs[entrant] = Cost(steps)
        }
        return costs
    }

    private func measuredTimings(_ kind: UpdateKind, recordSize: Int) throws -> [Entrant: Timing] {
        var workloads: [Entrant: Workload] = [:]
        var contestants: [Entrant: any Contestant] = [:]
        for entrant in Entrant.allCases {
            let workload = Workload(backupCount: Self.updateBackups)
            let contestant = try entrant.open(
                in: scene.directory("time-\(kind.rawValue)", entrant), recordSize: recordSize)
            try contestant.setUp(workload.networks)
            workloads[entrant] = workload
            contestants[entrant] = contestant
        }
        var durations: [Entrant: [Duration]] = [:]
        for round in 0..<rounds {
            // Everybody is first in some round.
            let first = round % Entrant.allCases.count
            for entrant in Entrant.allCases[first...] + Entrant.allCases[..<first] {
                for _ in 0..<updatesPerRound {
                    guard let change = workloads[entrant]?.next(kind), let contestant = contestants[entrant] else {
                        continue
                    }
                    let duration = try ContinuousClock().measure { try contestant.make(change) }
                    durations[entrant, default: []].append(duration)
                }
            }
        }
        return durations.mapValues(Timing.init)
    }
}
