import FoundationEssentials
import Glibc

/// One run of one case. A file of results has one run per line.
public struct Run: Codable, Equatable, Sendable {
    /// Clock of the run: virtual time of the machine, or real time (Docs/contributor/testing.md).
    public enum Time: String, Codable, CaseIterable, Sendable { case virtual, clock }

    public let caseName: String
    public let stack: String
    public let time: Time
    public var readings: [FigureReading] = []
    public var failure: String?
    /// Build of altnet, which distinguishes measurements of several builds; nil for other stacks.
    public var build: String?

    private enum CodingKeys: String, CodingKey {
        case caseName = "case"
        case stack, time, readings, failure, build
    }

    public var line: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// Parses a file of results. Skips invalid lines, such as an incomplete last one. Older files have the key `trial`
    /// instead of `case`.
    public static func runs(in text: String) -> [Run] {
        let decoder = JSONDecoder()
        return text.replacing("\"trial\":", with: "\"case\":").split(separator: "\n").compactMap {
            try? decoder.decode(Run.self, from: Data($0.utf8))
        }
    }
}

public struct FigureReading: Codable, Equatable, Sendable {
    public let figure: Figure
    /// Value in the figure's unit; nil if the event did not occur.
    public let value: Double?
    /// Seconds waited in vain if the event did not occur; else nil.
    public let waited: Double?

    init(_ figure: Figure, _ measured: Measured) {
        self.figure = figure
        switch measured {
        case .value(let value): (self.value, waited) = (value, nil)
        case .never(let limit): (value, waited) = (nil, limit / .seconds(1))
        }
    }
}

/// Stores runs, one line each, in a folder per case and clock. Each run is stored as soon as it ends, so that an
/// interrupted benchmark can continue.
public struct RunStore: Sendable {
    private let folder: String

    public init(folder: String) { self.folder = folder }

    public func folder(of caseName: String, in time: Run.Time) -> String { "\(folder)/\(caseName)-\(time.rawValue)" }

    public var runs: [Run] {
        BenchmarkPlan.caseNames.flatMap { caseName in
            Run.Time.allCases.flatMap { Self.runs(in: folder(of: caseName, in: $0)) }
        }
    }

    public func forget(_ job: BenchmarkPlan.Job, in time: Run.Time) throws {
        let folder = folder(of: job.caseName, in: time)
        let kept = Self.runs(in: folder).filter { run in !job.wanted.contains { $0.stack == run.stack } }
        try? FileManager.default.removeItem(atPath: Self.file(in: folder))
        for run in kept { try Self.append(run, in: folder) }
    }

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
    /// Returns the run with the build of altnet. Runs of other stacks stay unchanged.
    public func stamped(altnet build: String?) -> Run {
        guard isAltnet else { return self }
        var run = self
        run.build = build
        return run
    }

    fileprivate var isAltnet: Bool { StackName(rawValue: stack)?.isAltnet ?? false }
}

extension [Run] {
    /// Returns the runs without those of other altnet builds. Returns all runs if `build` is nil.
    public func current(altnet build: String?) -> [Run] {
        guard let build else { return self }
        return filter { !$0.isAltnet || $0.build == build }
    }
}

extension Run {
    public static func stacks(of caseName: String) -> [String] {
        if caseName == LowerBound.name { return [LowerBound.name] }
        // Include a second station only for a radio that supports it.
        let isMove = Lab.radioKind == .softMAC && BenchmarkCase.all.contains { $0.name == caseName && $0.isMove }
        return StackName.allCases.filter { $0.spare == nil || isMove }.map(\.rawValue)
    }

    /// Runs one case once on this kernel.
    /// - Parameter number: number of the run, from 0.
    public static func play(_ caseName: String, stack: String, number: Int, time: Time) async -> Run {
        do {
            return Run(
                caseName: caseName, stack: stack, time: time,
                readings: try await readings(of: caseName, stack: stack, number: number))
        } catch {
            return Run(caseName: caseName, stack: stack, time: time, failure: "\(error)")
        }
    }

    private static func readings(of caseName: String, stack: String, number: Int) async throws -> [FigureReading] {
        if caseName == LowerBound.name { return try await LowerBound.run() }
        guard let benchmarkCase = BenchmarkCase.all.first(where: { $0.name == caseName }),
            let stack = StackName(rawValue: stack)
        else {
            throw LabError.unexpected("there is no benchmark case “\(caseName)”, or no stack “\(stack)”")
        }
        return try await benchmarkCase.run(stack, number: number)
    }

    public var summary: String {
        if let failure { return "failed: \(failure)" }
        return readings.map { reading in
            let unit = reading.figure.unit
            guard let value = reading.value else { return "\(reading.figure.rawValue) never" }
            return "\(reading.figure.rawValue) \(Summary.text(value, unit)) \(unit.rawValue)"
        }.sorted().joined(separator: ", ")
    }
}
