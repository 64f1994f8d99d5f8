import FoundationEssentials
import Glibc

/// One run of one case: a line of the file of results.
public struct Run: Codable, Equatable, Sendable {
    /// The kind of time that was measured (Docs/contributor/testing.md).
    public enum Time: String, Codable, CaseIterable, Sendable { case virtual, clock }

    public let caseName: String
    public let stack: String
    public let time: Time
    public let readings: [Reading]
    /// Why there are no readings, in words.
    public let failure: String?
    /// The program that was measured, if there are several builds of one: altnet's.
    public var build: String?

    private enum CodingKeys: String, CodingKey {
        case caseName = "case"
        case stack, time, readings, failure, build
    }

    public init(caseName: String, stack: String, time: Time, readings: [Reading] = [], failure: String? = nil) {
        self.caseName = caseName
        self.stack = stack
        self.time = time
        self.readings = readings
        self.failure = failure
    }

    public var line: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// The runs in a file of results, except for a line that was not written to its end. Older files call
    /// the case a trial.
    public static func runs(in text: String) -> [Run] {
        let decoder = JSONDecoder()
        return text.replacing("\"trial\":", with: "\"case\":").split(separator: "\n").compactMap {
            try? decoder.decode(Run.self, from: Data($0.utf8))
        }
    }
}

/// The value of one figure in one run.
public struct Reading: Codable, Equatable, Sendable {
    public let figure: Figure
    /// In the figure's unit; nil where it never came.
    public let value: Double?
    /// How long was waited for it where it never came, in seconds.
    public let waited: Double?

    init(_ figure: Figure, _ measured: Measured) {
        self.figure = figure
        switch measured {
        case .value(let value): (self.value, waited) = (value, nil)
        case .never(let limit): (value, waited) = (nil, limit / .seconds(1))
        }
    }
}

/// Stores runs: a folder for each case and time, and in it a line for each run. Each is there as soon as it has ended,
/// so that a benchmark that was interrupted goes on from there.
public struct RunStore: Sendable {
    private let folder: String

    public init(folder: String) { self.folder = folder }

    /// The folder of a case, and of its machine's records.
    public func folder(of caseName: String, in time: Run.Time) -> String { "\(folder)/\(caseName)-\(time.rawValue)" }

    /// All that there are.
    public var runs: [Run] {
        BenchmarkPlan.caseNames.flatMap { caseName in
            Run.Time.allCases.flatMap { Self.runs(in: folder(of: caseName, in: $0)) }
        }
    }

    /// Takes out those of a job.
    public func forget(_ job: BenchmarkPlan.Job, in time: Run.Time) throws {
        let folder = folder(of: job.caseName, in: time)
        let kept = Self.runs(in: folder).filter { run in !job.wanted.contains { $0.stack == run.stack } }
        try? FileManager.default.removeItem(atPath: Self.file(in: folder))
        for run in kept { try Self.append(run, in: folder) }
    }

    /// Those of one case.
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

extension Run {
    /// All cases that can be played, by name, each with the stacks that it is played with.
    public static func stacks(of caseName: String) -> [String] {
        if caseName == Floor.name { return [Floor.name] }
        // Two stations need a radio that has them.
        let isMove = Lab.radioKind == .softMAC && BenchmarkCase.all.contains { $0.name == caseName && $0.isMove }
        return StackName.allCases.filter { $0.spare == nil || isMove }.map(\.rawValue)
    }

    /// Plays one case once, on this kernel.
    ///
    /// - Parameter number: of the run, from 0.
    public static func play(_ caseName: String, stack: String, number: Int, time: Time) async -> Run {
        do {
            return Run(
                caseName: caseName, stack: stack, time: time,
                readings: try await readings(of: caseName, stack: stack, number: number))
        } catch {
            return Run(caseName: caseName, stack: stack, time: time, failure: "\(error)")
        }
    }

    private static func readings(of caseName: String, stack: String, number: Int) async throws -> [Reading] {
        if caseName == Floor.name { return try await Floor.run() }
        guard let benchmarkCase = BenchmarkCase.all.first(where: { $0.name == caseName }),
            let stack = StackName(rawValue: stack)
        else {
            throw LabError.unexpected("there is no benchmark case “\(caseName)”, or no stack “\(stack)”")
        }
        return try await benchmarkCase.run(stack, number: number)
    }

    /// In a line, to show while the benchmark runs.
    public var summary: String {
        if let failure { return "failed: \(failure)" }
        return readings.map { reading in
            let unit = reading.figure.unit
            guard let value = reading.value else { return "\(reading.figure.rawValue) never" }
            return "\(reading.figure.rawValue) \(Summary.text(value, unit)) \(unit.rawValue)"
        }.sorted().joined(separator: ", ")
    }
}
