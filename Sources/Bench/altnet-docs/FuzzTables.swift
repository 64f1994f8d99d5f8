import Fuzzing

enum FuzzTables {
    static var inputs: String {
        Markdown.table(["target", "input"], FuzzTarget.all.map { [Markdown.code($0.name), $0.subject] })
    }

    /// Returns one row per target. Keeps the page's figures, which `Tests/Fuzz/count` updates.
    static func runs(keeping page: String) -> String {
        let lines = page.split(separator: "\n").drop { $0 != GeneratedPage.mark("fuzz-runs") }
            .prefix { $0 != GeneratedPage.endMark }
        var figures: [String: [String]] = [:]
        for line in lines {
            let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
            guard cells.count == 2 + columns.count, let name = cells.first, name.hasPrefix("`") else { continue }
            figures[name] = Array(cells.dropFirst(2))
        }
        return Markdown.table(
            ["target", "goal"] + columns,
            FuzzTarget.all.map { target in
                let name = Markdown.code(target.name)
                return [name, power(target.goal)] + (figures[name] ?? columns.map { $0 == "last run" ? "-" : "0" })
            })
    }

    private static let columns = ["executions", "edges", "a second", "findings", "last run"]

    /// Returns a power of ten as 10^n, and other numbers unchanged.
    private static func power(_ number: Int) -> String {
        let digits = "\(number)"
        return digits.first == "1" && digits.dropFirst().allSatisfy { $0 == "0" }
            ? "10^\(digits.count - 1)" : digits
    }
}
