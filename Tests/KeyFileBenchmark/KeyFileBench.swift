import ArgumentParser
import FoundationEssentials
import Glibc
import Measuring

@main
struct KeyFileBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyfile-bench",
        abstract: "Measures altnet's key file beside SQLite, a rewritten wpa_supplicant.conf and bare writes.",
        discussion: """
            What is written and synced, and how much memory is used, is counted by strace(1), the same for all. What \
            is timed is timed without it, in rounds that interleave the contestants.
            """,
        subcommands: [TracedUpdates.self, TracedOpening.self])

    @Option(help: "A directory on the disk to measure; nothing is left in it.")
    var directory = ".build/keyfile-bench"

    @Option(help: "Rounds of timed updates.")
    var rounds = 50

    @Option(help: "Updates of each contestant in a round.")
    var updatesPerRound = 20

    @Option(help: "Updates that are traced and counted.")
    var tracedUpdates = 500

    @Option(help: "Openings of a full file, with the file in memory and as many from the disk.")
    var openings = 200

    @Flag(help: "How the result is written.")
    var form = Form.text

    @Flag(help: "End with status 1 if a goal is missed.")
    var check = false

    enum Form: String, EnumerableFlag { case text, json, markdown }

    func validate() throws {
        guard [rounds, updatesPerRound, tracedUpdates, openings].allSatisfy({ $0 > 0 }) else {
            throw ValidationError("every count must be at least 1")
        }
        guard tracedUpdates >= 100 else {
            throw ValidationError("trace 100 updates or more: fewer would not fill a sector of the key file")
        }
    }

    func run() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        guard let resolved = realpath(directory, nil) else { throw OpenFile.failure("find", directory) }
        defer { free(resolved) }
        let scene = try Scene(in: String(cString: resolved))
        let benchmark = Benchmark(
            scene: scene, rounds: rounds, updatesPerRound: updatesPerRound, tracedUpdates: tracedUpdates,
            openingCount: openings, report: Self.tell)
        let report: Report
        do { report = try benchmark.run() } catch {
            try? scene.remove()
            throw error
        }
        try scene.remove()
        print(try rendered(report))
        if check, !report.goals.allSatisfy(\.isMet) { throw ExitCode(1) }
    }

    /// To standard error, for standard output is the report's.
    private static func tell(_ text: String) {
        let line = text + "\n"
        _ = write(STDERR_FILENO, line, line.utf8.count)
    }

    private func rendered(_ report: Report) throws -> String {
        switch form {
        case .text: return report.text
        case .markdown: return report.markdown
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(Output(report: report, goals: report.goals)), as: UTF8.self)
        }
    }

    private struct Output: Encodable {
        let report: Report
        let goals: [Goal]
    }
}
