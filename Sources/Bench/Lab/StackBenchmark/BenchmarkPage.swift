import FoundationEssentials
import Measuring
import Simulation

public struct BenchmarkPage: Sendable {
    private let results: ReleaseResults
    private let earlier: ReleaseResults?
    /// Description of the machine and the versions of its programs, as lines of Markdown.
    private let machine: String
    private let command: String

    /// - Parameter earlier: results with another release's packages; nil for none. The page shows figures that differ
    ///   clearly.
    public init(_ results: ReleaseResults, earlier: ReleaseResults? = nil, machine: String, command: String) {
        self.results = results
        self.earlier = earlier
        self.machine = machine
        self.command = command
    }

    private var runs: [Run] { results.runs }

    /// Tables as text for a terminal.
    public var text: String { sections(Table.terminalText, heading: { "\n\($0)\n" }).joined(separator: "\n") }

    public var markdown: String {
        sections(\.markdown, heading: { "### \($0)\n" }).joined(separator: "\n\n")
    }

    static let marks = (begin: "<!-- made by make bench -->", end: "<!-- end -->")

    /// Writes the tables between the page's marks, and the plot next to the page.
    public func write(to path: String) throws {
        let page = try String(contentsOfFile: path, encoding: .utf8)
        guard let written = Self.replacing(in: page, by: markdown) else {
            throw NoMarks(path: path)
        }
        try Data(written.utf8).write(to: URL(filePath: path))
        try Self.plot(path)
    }

    /// Writes the plot of a page's tables next to the page.
    public static func plot(_ path: String) throws {
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let picture = (path.hasSuffix(".md") ? String(path.dropLast(3)) : path) + ".svg"
        try Data(BenchmarkPlot(page: page).svg.utf8).write(to: URL(filePath: picture))
    }

    /// Replaces the text between the page's marks.
    /// - Returns: nil if the page has no marks.
    static func replacing(in page: String, by text: String) -> String? {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        guard let begin = lines.firstIndex(of: marks.begin[...]),
            let end = lines[begin...].firstIndex(of: marks.end[...])
        else { return nil }
        return (lines[...begin] + ["", text[...], ""] + lines[end...]).joined(separator: "\n")
    }

    struct NoMarks: Error, CustomStringConvertible {
        let path: String

        var description: String {
            "\(path) has no lines “\(BenchmarkPage.marks.begin)” and “\(BenchmarkPage.marks.end)”"
        }
    }

    private func sections(_ render: (Table) -> String, heading: (String) -> String) -> [String] {
        let measured = Run.Time.allCases.filter { time in runs.contains { $0.time == time && !$0.readings.isEmpty } }
        let tables = measured.flatMap { time -> [String] in
            let own = [
                heading("Medians (least..most) of \(count(in: time)), \(time.rawValue) time"), render(comparison(time)),
                heading("Floor of a hard loss, \(time.rawValue) time"), render(lowerBound(time)),
                heading("Goals, \(time.rawValue) time"), render(Table(goals: Goal.all(of: runs, in: time))),
            ]
            guard let earlier, let differences = results.differences(from: earlier, in: time) else { return own }
            let title = "\(earlier.release)'s packages, where the figures differ clearly, \(time.rawValue) time"
            return own + [heading(title), render(differences)]
        }
        let failures = failures
        return tables
            + (failures.isEmpty ? [] : [heading("Runs that failed"), failures.joined(separator: "\n")])
            + [heading("Measured on and with"), machine + packages + "Command: `\(command)`"]
    }

    /// Versions of the releases' packages, as lines of Markdown.
    private var packages: String {
        [results, earlier].compactMap { $0?.packages }.filter { !$0.isEmpty }.map { "- \($0)\n" }.joined()
    }

    /// Returns `5 runs`, or `3 to 5 runs` if the numbers differ.
    private func count(in time: Run.Time) -> String {
        let counts = Figure.compared.flatMap { figure in
            StackName.allCases.compactMap { runs.summary(figure, of: $0, in: time)?.runs }
        }
        guard let least = counts.min(), let most = counts.max() else { return "no runs" }
        return least == most ? "\(most) \(most == 1 ? "run" : "runs")" : "\(least) to \(most) runs"
    }

    private func comparison(_ time: Run.Time) -> Table {
        let rows = Figure.compared.compactMap { figure -> [String]? in
            let summaries = StackName.allCases.map { runs.summary(figure, of: $0, in: time) }
            guard summaries.contains(where: { $0 != nil }) else { return nil }
            return ["\(figure.title), \(figure.unit.rawValue)"]
                + summaries.map { cell($0, beside: summaries.first.flatMap(\.self), figure.unit) }
        }
        return Table(columns: [""] + StackName.allCases.map(\.title), rows: rows)
    }

    /// Returns the summary's text and its ratio to altnet's value.
    private func cell(_ summary: Summary?, beside own: Summary?, _ unit: Figure.Unit) -> String {
        guard let summary else { return "-" }
        let text = summary.text(unit)
        guard let own, own != summary, own.median.isFinite, summary.median.isFinite, own.median > 0 else { return text }
        let ratio = summary.median / own.median
        return "\(text) ×\(ratio.fixed(ratio < 0.1 ? 3 : ratio < 10 ? 1 : 0))"
    }

    private func lowerBound(_ time: Run.Time) -> Table {
        let own = runs.summary(.hardLoss24CN, of: .altnet, in: time)?.median
        let parts: [Figure] = [.lowerBound, .lowerBoundScan, .lowerBoundJoin, .lowerBoundLease]
        let rows = parts.compactMap { figure in
            runs.summary(figure, of: LowerBound.name, in: time).map { [figure.title, $0.text(figure.unit) + " s"] }
        }
        let distance = runs.summary(.lowerBound, of: LowerBound.name, in: time).flatMap { floor in
            own.map { [["altnet's hard loss (2.4 GHz, CN) above it", "\(($0 - floor.median).fixed(2)) s"]] }
        }
        return Table(columns: ["", "measured"], rows: rows + (distance ?? []))
    }

    private var failures: [String] {
        runs.compactMap { run in
            run.failure.map { reason in
                let line = reason.split(separator: "\n").first ?? ""
                return "- \(run.caseName), \(run.stack), \(run.time.rawValue) time: \(line)"
            }
        }
    }
}

extension Table {
    fileprivate static func terminalText(_ table: Table) -> String { table.text }
}
