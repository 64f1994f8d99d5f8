import Testing

@testable import Fuzzing

/// The packages in Tests/Fuzz and Tests/Benchmarks compile modules of altnet in another way, and repeat their
/// declarations.
@Suite struct PackageTests {
    @Test(arguments: ["Fuzz", "Benchmarks"]) func modulesAreDeclaredAsInTheMainPackage(folder: String) {
        let main = declarations(in: "Package.swift")
        let copies = declarations(in: "Tests/\(folder)/Package.swift")
        #expect(copies.count > 5)
        for copy in copies {
            #expect(
                main.contains(copy), "Copy the declaration in Package.swift to Tests/\(folder)/Package.swift: \(copy)")
        }
    }

    /// Calls of `module` and `support` in the list of targets, each in one line, without the flags of debug builds.
    private func declarations(in path: String) -> [String] {
        let lines = TestFile.lines(of: path).map { $0.drop(while: { $0 == " " }) }.filter { !$0.hasPrefix("//") }
        return lines.joined(separator: " ").split(separator: "targets: [").last?
            .split(separator: " ").joined(separator: " ")
            .replacing("( ", with: "(").replacing("[ ", with: "[").replacing(", ]", with: "]")
            .replacing("), module(", with: ")\nmodule(").replacing("), support(", with: ")\nsupport(")
            .replacing("), .", with: ")\n.").replacing("), tests(", with: ")\ntests(")
            .replacing(", settings: fast", with: "")
            .split(separator: "\n").map(String.init).filter { $0.hasPrefix("module(") || $0.hasPrefix("support(") }
            ?? []
    }
}
