/// Modules in `Sources` with their imports from this package.
enum ModuleGraph {
    static func text(of manifest: String) -> String {
        // Leave out the test support modules, which follow in the manifest.
        let sources =
            manifest.firstRange(of: "support(\"Randomness\")").map { manifest[..<$0.lowerBound] }
            ?? manifest[...]
        let found = sources.matches(of: /(?:module\(|\.executableTarget\()\s*(?:name: )?"([\w-]+)"/)
        let names = found.map { String($0.output.1) }
        return found.indices.map { index in
            let end = index + 1 < found.count ? found[index + 1].range.lowerBound : sources.endIndex
            let words = sources[found[index].range.upperBound..<end].matches(of: /(in: )?"([\w-]+)"/)
                .filter { $0.output.1 == nil }.map { String($0.output.2) }
            let dependencies = Set(words).intersection(names).subtracting([names[index]]).sorted()
            return "    \(names[index]): \(dependencies.isEmpty ? "none" : dependencies.joined(separator: ", "))"
        }.joined(separator: "\n")
    }
}
