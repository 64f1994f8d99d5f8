import Foundation
import Testing

/// Docs/simulation.md, whose example and whose table are tested.
enum SimulationDocument {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func lines() throws -> [Substring] {
        try String(contentsOf: root.appendingPathComponent("Docs/simulation.md"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The scenario that explains the format.
    static func example() throws -> String {
        let lines = try lines()
        let start = try #require(lines.firstIndex(of: "```scenario"))
        return lines[(start + 1)...].prefix { $0 != "```" }.joined(separator: "\n")
    }

    /// The rows that tell of the library.
    static func libraryRows() throws -> [Substring] {
        let lines = try lines()
        let head = try #require(lines.firstIndex(of: "| scenario | lasts | what it is |"))
        return Array(lines[(head + 2)...].prefix { $0.hasPrefix("|") })
    }
}
