import Glibc
import Measuring

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
