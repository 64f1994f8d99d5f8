import FoundationEssentials
import Glibc

/// Where runs are kept: a folder for each trial and time, and in it a line for each run. Each is there as soon as it has ended,
/// so that a benchmark that was interrupted goes on where it was.
public struct RunStore: Sendable {
    private let folder: String

    public init(folder: String) { self.folder = folder }

    /// Where the records of a trial's machine go, too.
    public func folder(of trial: String, in time: Run.Time) -> String { "\(folder)/\(trial)-\(time.rawValue)" }

    /// All that there are.
    public var runs: [Run] {
        BenchmarkPlan.trials.flatMap { trial in
            Run.Time.allCases.flatMap { Self.runs(in: folder(of: trial, in: $0)) }
        }
    }

    /// Takes out those of a job.
    public func forget(_ job: BenchmarkPlan.Job, in time: Run.Time) throws {
        let folder = folder(of: job.trial, in: time)
        let kept = Self.runs(in: folder).filter { run in !job.wanted.contains { $0.stack == run.stack } }
        try? FileManager.default.removeItem(atPath: Self.file(in: folder))
        for run in kept { try Self.append(run, in: folder) }
    }

    /// Those of one trial.
    public static func runs(in folder: String) -> [Run] {
        Run.runs(in: (try? String(contentsOfFile: file(in: folder), encoding: .utf8)) ?? "")
    }

    public static func append(_ run: Run, in folder: String) throws {
        let path = file(in: folder)
        let line = try run.line + "\n"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard let file = fopen(path, "a") else { throw Failure(path: path, errno: errno) }
        let written = fputs(line, file)
        guard fclose(file) == 0, written >= 0 else { throw Failure(path: path, errno: errno) }
    }

    private static func file(in folder: String) -> String { "\(folder)/runs.jsonl" }

    public struct Failure: Error, CustomStringConvertible {
        let path: String
        let errno: Int32

        public var description: String { "cannot write \(path): \(String(cString: strerror(errno)))" }
    }
}

extension Run {
    /// With the build of the program that was measured.
    public func stamped(altnet build: String?) -> Run {
        guard isAltnet else { return self }
        var run = self
        run.build = build
        return run
    }

    fileprivate var isAltnet: Bool { StackName(rawValue: stack)?.isAltnet ?? false }
}

extension [Run] {
    /// Without those of other builds of altnet than this one, if it is known which.
    public func current(altnet build: String?) -> [Run] {
        guard let build else { return self }
        return filter { !$0.isAltnet || $0.build == build }
    }
}
