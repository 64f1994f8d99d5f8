import Foundation

/// Docs/protocol.md, whose examples are the tests' messages.
enum ProtocolDocument {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Docs")

    static let text = (try? String(contentsOf: folder.appendingPathComponent("protocol.md"), encoding: .utf8)) ?? ""

    static let requests = lines(after: "-> ")
    static let answers = lines(after: "<- ").filter { !$0.contains(#""event":"#) }
    static let events = lines(after: "<- ").filter { $0.contains(#""event":"#) }

    /// What the request with this id asked.
    static func type(ofRequest id: String) -> String? {
        requests.lazy.compactMap { object($0) as? [String: Any] }.first { $0["id"] as? String == id }?["type"]
            as? String
    }

    /// The codes in the first column of the table with this heading.
    static func codes(inTable heading: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.hasPrefix("| \(heading) |") }
            .dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .flatMap { row in (row.split(separator: "|").first ?? "").matches(of: /`([^`]+)`/).map { String($0.1) } }
    }

    /// The cells after the first one of the row that begins with this one.
    static func row(_ first: String) -> [String] {
        let row = text.split(separator: "\n").first { $0.hasPrefix("| \(first) |") }
        return row?.split(separator: "|").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) } ?? []
    }

    /// The texts of the Swift files of these targets.
    static func sources(_ targets: [String]) throws -> [String] {
        let sources = folder.deletingLastPathComponent().appendingPathComponent("Sources")
        return try targets.flatMap { target in
            let files = FileManager.default.enumerator(atPath: sources.appendingPathComponent(target).path)
            return try (files?.allObjects ?? []).compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
                .map { try String(contentsOf: sources.appendingPathComponent("\(target)/\($0)"), encoding: .utf8) }
        }
    }

    /// A JSON line as something that compares by meaning.
    static func object(_ line: some StringProtocol) -> NSObject? {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? NSObject
    }

    private static func lines(after arrow: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(arrow) }.map { String($0.dropFirst(arrow.count)) }
    }
}
