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

    /// A JSON line as something that compares by meaning.
    static func object(_ line: some StringProtocol) -> NSObject? {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? NSObject
    }

    private static func lines(after arrow: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(arrow) }.map { String($0.dropFirst(arrow.count)) }
    }
}
