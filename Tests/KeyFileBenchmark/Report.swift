import CSQLite
import FoundationEssentials
import Measuring

/// The results.
struct Report: Codable {
    let updates: [UpdateResult]
    let openings: [OpeningResult]
    let fileSystem: FileSystem
    let kernel: String
    let processor: String
    let sqlite: String

    init(updates: [UpdateResult], openings: [OpeningResult], fileSystem: FileSystem) throws {
        self.updates = updates
        self.openings = openings
        self.fileSystem = fileSystem
        kernel = try Self.firstLine(of: "/proc/sys/kernel/osrelease") { _ in true }
        // Boards with an Arm processor have a "Model" line; others name the processor only.
        processor = try Self.firstLine(of: "/proc/cpuinfo") {
            $0.lowercased().hasPrefix("model name") || $0.hasPrefix("Model")
        }
        sqlite = String(cString: sqlite3_libversion())
    }

    private static func firstLine(of path: String, where isMeant: (Substring) -> Bool) throws -> String {
        let line = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").first(where: isMeant)
        return (line?.split(separator: ": ").last).map(String.init) ?? "unknown"
    }
}

/// One contestant's updates of one kind.
struct UpdateResult: Codable {
    let entrant: Entrant
    let kind: UpdateKind
    let timing: Timing
    /// How the median compares to that of a bare append, and of a bare write in place.
    let timesAppend: Double
    let timesOverwrite: Double
    let cost: Cost
}

/// The cost of an update for the disk, from a trace of many.
struct Cost: Codable {
    /// Bytes handed to the kernel.
    let writtenMedian: Int
    let writtenMean: Double
    /// Bytes in whole pages that the kernel sends to the disk. See `Mark.diskBytes`.
    let diskMean: Double
    let syncsMean: Double
    let syncsMaximum: Int

    /// - Parameter steps: at least one.
    init(_ steps: [TracedStep]) {
        let count = Double(steps.count)
        writtenMedian = steps.map(\.written).sorted()[steps.count / 2]
        writtenMean = Double(steps.reduce(0) { $0 + $1.written }) / count
        diskMean = Double(steps.reduce(0) { $0 + $1.diskBytes }) / count
        syncsMean = Double(steps.reduce(0) { $0 + $1.syncs }) / count
        syncsMaximum = steps.reduce(0) { max($0, $1.syncs) }
    }
}

/// One contestant's openings.
struct OpeningResult: Codable {
    let entrant: Entrant
    let fileBytes: Int
    /// With the file in the kernel's memory, and from the disk.
    let warm: Timing
    let cold: Timing
    /// Of opening alone.
    let syncs: Int
    /// In bytes, of opening and an update of each kind. See `TracedStep.peakMemory`.
    let peakMemory: Int
}

extension Report {
    /// For people.
    var text: String { lines { $0.text } }

    /// For the documentation.
    var markdown: String { lines { $0.markdown } }

    private func lines(_ render: (Table) -> String) -> String {
        var parts = [
            "\(fileSystem.type) on \(fileSystem.device) (\(fileSystem.options)), Linux \(kernel), \(processor), "
                + "SQLite \(sqlite)"
        ]
        if fileSystem.isInMemory {
            parts.append("\(fileSystem.type) is memory: syncs have nothing to do there, so the times mean nothing.")
        }
        parts += UpdateKind.allCases.map { render(table(of: $0)) }
        parts += [render(openingTable), render(Table(goals: goals))]
        return parts.joined(separator: "\n\n")
    }

    private func table(of kind: UpdateKind) -> Table {
        let heading =
            switch kind {
            case .password: "One network's password changed"
            case .list: "The list of \(Benchmark.updateBackups) replaced"
            case .statistics: "One network seen again"
            }
        return Table(
            columns: [
                heading, "median µs", "mean µs", "p95 µs", "x append", "x in place", "bytes", "disk bytes", "syncs",
                "most",
            ],
            rows: updates.filter { $0.kind == kind }.map { result in
                [
                    result.entrant.title, result.timing.median.rounded(0), result.timing.mean.rounded(0),
                    result.timing.p95.rounded(0), result.timesAppend.rounded(2), result.timesOverwrite.rounded(2),
                    result.cost.writtenMean.rounded(0), result.cost.diskMean.rounded(0),
                    result.cost.syncsMean.rounded(2), "\(result.cost.syncsMaximum)",
                ]
            })
    }

    private var openingTable: Table {
        Table(
            columns: [
                "Opening, \(Benchmark.openingBackups) backups", "median µs", "p95 µs", "cold median µs", "cold p95 µs",
                "syncs", "file bytes", "peak KiB",
            ],
            rows: openings.map { result in
                [
                    result.entrant.title, result.warm.median.rounded(0), result.warm.p95.rounded(0),
                    result.cold.median.rounded(0), result.cold.p95.rounded(0), "\(result.syncs)", "\(result.fileBytes)",
                    (Double(result.peakMemory) / 1024).rounded(0),
                ]
            })
    }
}

extension Report {
    /// The goals of the key file. Syncs and times are judged by the worst kind of update, bytes by each kind.
    var goals: [Goal] {
        let altnet = updates.filter { $0.entrant == .altnet }
        let syncs = altnet.map(\.cost.syncsMean).max() ?? .infinity
        let times = altnet.map(\.timesAppend).max() ?? .infinity
        let opening = openings.first { $0.entrant == .altnet }
        let milliseconds = opening.map { max($0.warm.p95, $0.cold.p95) / 1000 } ?? .infinity
        let memory = opening.map { Double($0.peakMemory) / 1024 } ?? .infinity
        let bytes = altnet.map { result in
            let fewer = bytesOfSQLite(result.kind) / result.cost.writtenMean
            return Goal(
                text: "at least 10 x fewer bytes than SQLite: \(result.kind.rawValue)", measured: fewer, unit: "x",
                isMet: fewer >= 10)
        }
        return bytes + [
            Goal(text: "at most 1 sync per update", measured: syncs, unit: "syncs", isMet: syncs <= 1),
            Goal(text: "at most 1.5 x a bare append + fdatasync", measured: times, unit: "x", isMet: times <= 1.5),
            Goal(text: "a full file opens in under 5 ms", measured: milliseconds, unit: "ms", isMet: milliseconds < 5),
            Goal(text: "under 256 KiB of memory at the peak", measured: memory, unit: "KiB", isMet: memory < 256),
        ]
    }

    private func bytesOfSQLite(_ kind: UpdateKind) -> Double {
        updates.first { $0.entrant == .sqlite && $0.kind == kind }?.cost.writtenMean ?? 0
    }
}
