import FoundationEssentials
import Glibc

/// The file in which runs are kept, one line each, so that a benchmark that was interrupted goes on where it was.
public struct FileOfRuns: Sendable {
    public static let name = "runs.jsonl"

    public let path: String

    public init(path: String) { self.path = path }

    /// Those that are there; none where there is no file.
    public var runs: [Run] { Run.runs(in: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "") }

    public func append(_ runs: [Run]) throws {
        let lines = try runs.map { try $0.line + "\n" }.joined()
        guard let file = fopen(path, "a") else { throw Failure(path: path, errno: errno) }
        let written = fputs(lines, file)
        guard fclose(file) == 0, written >= 0 else { throw Failure(path: path, errno: errno) }
    }

    public struct Failure: Error, CustomStringConvertible {
        let path: String
        let errno: Int32

        public var description: String { "cannot write \(path): \(String(cString: strerror(errno)))" }
    }
}

extension FileOfRuns {
    /// Takes runs out.
    public func forget(_ isUnwanted: (Run) -> Bool) throws {
        let kept = runs.filter { !isUnwanted($0) }
        try? FileManager.default.removeItem(atPath: path)
        try append(kept)
    }
}

extension Run {
    /// With the build of the program that was measured.
    public func stamped(altnet build: String?) -> Run {
        guard stack == StackName.altnet.rawValue else { return self }
        var run = self
        run.build = build
        return run
    }
}

extension [Run] {
    /// Without those of other builds of altnet.
    public func current(altnet build: String?) -> [Run] {
        filter { $0.stack != StackName.altnet.rawValue || $0.build == build }
    }
}

extension BenchmarkPlan.Job {
    /// Whether it would run this anew.
    public func covers(_ run: Run, in time: Run.Time) -> Bool {
        run.trial == trial && run.time == time && wanted.contains { $0.stack == run.stack }
    }
}
