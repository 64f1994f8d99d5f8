/// How long something took, again and again: in microseconds.
public struct Timing: Codable, Sendable {
    public let median: Double
    public let mean: Double
    public let p95: Double
    public let p99: Double

    /// - Parameter durations: at least one.
    public init(_ durations: [Duration]) {
        let sorted = durations.map { $0 / .microseconds(1) }.sorted()
        median = sorted[sorted.count / 2]
        mean = sorted.reduce(0, +) / Double(sorted.count)
        p95 = sorted[sorted.count * 95 / 100]
        p99 = sorted[sorted.count * 99 / 100]
    }
}

/// Something to be reached, and how far it was.
public struct Goal: Codable, Sendable {
    public let text: String
    public let measured: Double
    public let unit: String
    public let isMet: Bool

    public init(text: String, measured: Double, unit: String, isMet: Bool) {
        self.text = text
        self.measured = measured
        self.unit = unit
        self.isMet = isMet
    }
}

extension Table {
    /// All goals and whether they were met.
    public init(goals: [Goal]) {
        self.init(
            columns: ["Goal", "measured", ""],
            rows: goals.map { [$0.text, "\($0.measured.rounded(2)) \($0.unit)", $0.isMet ? "met" : "missed"] })
    }
}

/// Rows of cells under a heading each; the first column is text, the others are figures.
public struct Table: Sendable {
    public let columns: [String]
    public let rows: [[String]]

    public init(columns: [String], rows: [[String]]) {
        self.columns = columns
        self.rows = rows
    }

    /// Aligned, for a terminal.
    public var text: String {
        let lines = [columns] + rows
        let widths = columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).enumerated().map { index, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return index == 0 ? cell.0 + padding : padding + cell.0
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    public var markdown: String {
        let rule = columns.indices.map { $0 == 0 ? "---" : "---:" }
        return ([columns, rule] + rows).map { "| " + $0.joined(separator: " | ") + " |" }.joined(separator: "\n")
    }
}

extension Double {
    /// With this many decimals.
    public func rounded(_ decimals: Int) -> String {
        guard isFinite else { return "-" }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let value = (self * scale).rounded() / scale
        return decimals == 0 ? "\(Int(value))" : "\(value)"
    }
}
