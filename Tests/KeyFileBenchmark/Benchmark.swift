import FoundationEssentials
import Glibc
import Measuring

/// One run of everything.
///
/// Counts (bytes, syncs, memory) come from tracing each contestant in a process of its own. Times are measured here,
/// without a tracer, in rounds: each contestant makes a few updates, then the next one does, so that other work of the
/// disk hits all alike.
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
            // Known counts show that the counting is right.
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
            // Each is first in some round.
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

extension Benchmark {
    /// The bytes of a bare write while openings are measured: about a changed password's.
    fileprivate static let recordSize = 160

    /// Times openings of files that are in full use, each with one update more, so that every degree of filling is met.
    func measuredOpenings() throws -> [OpeningResult] {
        var fields = try Entrant.allCases.map { try Field($0, in: scene.directory("open", $0)) }
        for _ in 0..<openingCount {
            for index in fields.indices { try fields[index].measure() }
        }
        return try fields.map { field in
            let command = TracedOpening.arguments(
                field.entrant, recordSize: Self.recordSize, directory: field.directory)
            let steps = try Trace(Strace.run(command, tracesIn: scene.root), directory: field.directory).steps
            guard let opening = steps.first else { throw BenchmarkError("no opening was traced") }
            return try OpeningResult(
                entrant: field.entrant, fileBytes: field.fileBytes(), warm: Timing(field.warm),
                cold: Timing(field.cold),
                syncs: opening.syncs, peakMemory: steps.map(\.peakMemory).max() ?? 0)
        }
    }

    /// One contestant's part.
    private struct Field {
        let entrant: Entrant
        let directory: String
        private(set) var warm: [Duration] = []
        private(set) var cold: [Duration] = []
        private var workload = Workload(backupCount: Benchmark.openingBackups)

        init(_ entrant: Entrant, in directory: String) throws {
            self.entrant = entrant
            self.directory = directory
            let contestant = try entrant.open(in: directory, recordSize: Benchmark.recordSize)
            try contestant.setUp(workload.networks)
            for _ in 0..<Benchmark.fillingUpdates { try contestant.make(workload.next(.password)) }
        }

        mutating func measure() throws {
            try cold.append(open(dropCaches: true))
            try warm.append(open(dropCaches: false))
        }

        /// Opens the file, makes one update, and closes it.
        private mutating func open(dropCaches: Bool) throws -> Duration {
            if dropCaches {
                for file in try Scene.files(in: directory) { try OpenFile(file, O_RDONLY).dropCache() }
            }
            let start = ContinuousClock.now
            let contestant = try entrant.open(in: directory, recordSize: Benchmark.recordSize)
            let duration = ContinuousClock.now - start
            guard contestant.networkCount ?? workload.networks.count == workload.networks.count else {
                throw BenchmarkError("\(entrant.title) did not read all networks")
            }
            try contestant.make(workload.next(.statistics))
            return duration
        }

        func fileBytes() throws -> Int {
            try Scene.files(in: directory).reduce(0) { total, file in
                try total + OpenFile(file, O_RDONLY).size
            }
        }
    }
}

/// The contestants' folders on the disk that is measured: a directory for each, all removed at the end.
struct Scene {
    /// A real path.
    let root: String

    init(in parent: String) throws {
        root = parent + "/run-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    func remove() throws { try FileManager.default.removeItem(atPath: root) }

    /// A new directory for a contestant.
    func directory(_ stage: String, _ entrant: Entrant) throws -> String {
        let path = "\(root)/\(stage)-\(entrant.rawValue)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    /// The files in a contestant's directory.
    static func files(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).map { directory + "/" + $0 }
    }
}

/// The file system of a directory, from `/proc/self/mountinfo` (proc(5)).
struct FileSystem: Codable {
    let type: String
    let device: String
    let options: String

    /// Whether it lives in memory, where a sync has nothing to do.
    var isInMemory: Bool { type == "tmpfs" || type == "ramfs" }

    /// - Parameter directory: a real path.
    init(of directory: String) throws {
        let text = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
        let mounts = text.split(separator: "\n").compactMap(Mount.init)
        // The last one, for it covers those before.
        let best = mounts.filter { $0.holds(directory) }.enumerated()
            .max { ($0.element.point.utf8.count, $0.offset) < ($1.element.point.utf8.count, $1.offset) }
        guard let mount = best?.element else { throw BenchmarkError("nothing is mounted at \(directory)") }
        (type, device, options) = (String(mount.type), String(mount.device), String(mount.options))
    }

    private struct Mount {
        let point: Substring
        let options: Substring
        let type: Substring
        let device: Substring

        init?(_ line: Substring) {
            let parts = line.split(separator: " ")
            guard let dash = parts.firstIndex(of: "-"), dash >= 6, parts.count >= dash + 3 else { return nil }
            (point, options, type, device) = (parts[4], parts[5], parts[dash + 1], parts[dash + 2])
        }

        func holds(_ path: String) -> Bool { point == "/" || path == point || path.hasPrefix(point + "/") }
    }
}
