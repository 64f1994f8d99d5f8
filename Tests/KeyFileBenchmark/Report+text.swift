import Measuring

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
