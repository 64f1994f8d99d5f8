/// A file that is generated completely or in parts.
struct GeneratedPage {
    let path: String
    let content: Content

    enum Content {
        case whole(String)
        case parts([Part])
    }

    /// Text that replaces the lines between two marks.
    struct Part {
        let name: String
        let text: String

        init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
    }

    static func all(in repository: Repository) throws -> [GeneratedPage] {
        let schema = try SchemaTables(json: repository.text(of: "Docs/protocol.schema.json"))
        let help = try CommandHelp.ofAltnet()
        let protocolTables = [
            Part("flags", ProtocolTables.flags), Part("errors", ProtocolTables.errors),
            Part("limits", ProtocolTables.limits), Part("server-limits", ProtocolTables.serverLimits),
            Part("checks", ProtocolTables.checks),
        ]
        let codes = try schema.parts()
        return [
            GeneratedPage(path: "board/altnet.conf", content: .whole(SettingsPages.file)),
            GeneratedPage(path: "Docs/man/altnet.conf.5", content: .whole(SettingsPages.manualPage)),
            GeneratedPage(path: "Docs/reference/settings.md", content: .whole(SettingsPages.page)),
            GeneratedPage(path: "Docs/reference/protocol.md", content: .parts(protocolTables + codes)),
            GeneratedPage(
                path: "Docs/reference/cli.md",
                content: .parts([Part("commands", help.commandTable), Part("exit-status", try help.exitStatusTable())])
            ),
            GeneratedPage(path: "Docs/integrator/fleet.md", content: .parts([Part("topics", TopicTable.text)])),
            GeneratedPage(
                path: "Docs/contributor/building.md",
                content: .parts([
                    Part("shipped-command", try ShippedCommand.text(of: repository.text(of: "Makefile")))
                ])),
            GeneratedPage(path: "Docs/reference/metrics.md", content: .parts([Part("metrics", MetricsTable.text)])),
            GeneratedPage(
                path: "Docs/reference/kept-files.md",
                content: .parts([Part("kept-files", try PersistentFileTable.text())])),
            GeneratedPage(
                path: "Docs/reference/scenarios.md", content: .parts([Part("scenarios", try ScenarioTable.text())])),
            GeneratedPage(
                path: "Docs/results/fuzzing.md",
                content: .parts([
                    Part("fuzz-inputs", FuzzTables.inputs),
                    Part("fuzz-runs", FuzzTables.runs(keeping: try repository.text(of: "Docs/results/fuzzing.md"))),
                ])),
            GeneratedPage(
                path: "Docs/reference/policy-settings.md",
                content: .parts([Part("policy-settings", try PolicySettingsTable.text())])),
            GeneratedPage(
                path: "Docs/contributor/architecture.md",
                content: .parts([Part("modules", ModuleGraph.text(of: try repository.text(of: "Package.swift")))])),
        ]
    }

    /// Returns the new content of the file.
    /// - Parameter present: current content of the file; nil if the file does not exist.
    func text(from present: String?) throws -> String {
        switch content {
        case .whole(let text): return text
        case .parts(let parts):
            var lines = (present ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            for part in parts {
                guard let begin = lines.firstIndex(of: Self.mark(part.name)),
                    let end = lines[begin...].firstIndex(of: Self.endMark)
                else { throw MissingMarks(path: path, name: part.name) }
                lines.replaceSubrange((begin + 1)..<end, with: ["", part.text, ""])
            }
            return lines.joined(separator: "\n")
        }
    }

    static func mark(_ name: String) -> String { "<!-- made by make docs: \(name) -->" }
    static let endMark = "<!-- end -->"

    struct MissingMarks: Error, CustomStringConvertible {
        let path: String
        let name: String

        var description: String {
            "\(path) has no lines '\(GeneratedPage.mark(name))' and '\(GeneratedPage.endMark)': put them where the "
                + "generated part belongs"
        }
    }
}

enum Markdown {
    /// - Parameter centred: indices of columns with centred cells.
    static func table(_ head: [String], centred: Set<Int> = [], _ rows: [[String]]) -> String {
        let rules = head.indices.map { centred.contains($0) ? ":-:" : "---" }
        let lines = [line(head), "|" + rules.joined(separator: "|") + "|"] + rows.map(line)
        return lines.joined(separator: "\n")
    }

    private static func line(_ cells: [String]) -> String {
        "| "
            + cells.map { $0.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|") }
            .joined(separator: " | ") + " |"
    }

    static func code(_ text: String) -> String { "`\(text)`" }

    static func range(_ range: ClosedRange<Int>) -> String { "\(range.lowerBound) to \(range.upperBound)" }
}
