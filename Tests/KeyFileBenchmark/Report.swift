import CSQLite
import FoundationEssentials
import Measuring

/// What was measured.
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

/// What an update costs the disk, from a trace of many.
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
