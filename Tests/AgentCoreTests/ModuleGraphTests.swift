import Foundation
import Testing

/// Docs/architecture.md has the module graph as it is.
@Suite struct ModuleGraphTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The modules in Sources, each with those of them that it depends on.
    private static func graph(in manifest: String) -> [String] {
        let sources = manifest.range(of: "support(\"Randomness\")").map { manifest[..<$0.lowerBound] } ?? manifest[...]
        let start = /(?:module\(|\.executableTarget\()\s*(?:name: )?"([\w-]+)"/
        let found = sources.matches(of: start)
        let names = found.map { String($0.output.1) }
        return zip(found, names).enumerated().map { index, module in
            let end = index + 1 < found.count ? found[index + 1].range.lowerBound : sources.endIndex
            let words = sources[module.0.range.upperBound..<end].matches(of: /(in: )?"([\w-]+)"/)
                .filter { $0.output.1 == nil }.map { String($0.output.2) }
            let dependencies = Set(words).intersection(names).subtracting([module.1]).sorted()
            return "    \(module.1): \(dependencies.isEmpty ? "none" : dependencies.joined(separator: ", "))"
        }
    }

    @Test func theDocumentHasTheGraphOfTheManifest() throws {
        let manifest = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
        let document = try String(contentsOf: Self.root.appending(path: "Docs/architecture.md"), encoding: .utf8)
        let graph = Self.graph(in: manifest)
        #expect(graph.count > 15)
        let expected = "<!-- modules -->\n\n" + graph.joined(separator: "\n") + "\n\n<!-- end -->"
        #expect(document.contains(expected), "put this into Docs/architecture.md:\n\(expected)")
    }
}
