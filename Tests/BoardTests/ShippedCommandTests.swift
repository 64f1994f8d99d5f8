import Foundation
import Testing

/// One plain command makes what ships.
@Suite struct ShippedCommandTests {
    private static func text(_ file: String) throws -> String {
        try String(contentsOfFile: Board.folder + "/../" + file, encoding: .utf8)
    }

    /// The words of a command that is written on several lines.
    private static func words(_ text: Substring) -> [String] {
        text.replacing("\\\n", with: " ").split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// The words of a variable of the Makefile.
    private static func variable(_ name: String, in makefile: String) throws -> [String] {
        let start = try #require(makefile.range(of: "\n\(name) := ")).upperBound
        let lines = makefile[start...].replacing("\\\n", with: " ")
        return words(lines.prefix { $0 != "\n" })
    }

    private static func flags() throws -> [String] {
        let makefile = try text("Makefile")
        return try variable("COMPILE", in: makefile) + variable("LINK", in: makefile)
    }

    /// A toolset file of SwiftPM, as far as it is used here.
    private struct Toolset: Decodable {
        let swiftCompiler: Options?
        let cCompiler: Options?
        let cxxCompiler: Options?
        let linker: Options?

        struct Options: Decodable { let extraCLIOptions: [String] }

        var options: [String] {
            [swiftCompiler, cCompiler, cxxCompiler, linker].compactMap(\.?.extraCLIOptions).flatMap(\.self)
        }
    }

    private static func options() throws -> [String] {
        try flags().filter { $0.hasSuffix(".json") }.flatMap { file in
            try JSONDecoder().decode(Toolset.self, from: Data(text(file).utf8)).options
        }
    }

    @Test func hasFewFlagsAndNoLinkerScript() throws {
        let flags = try Self.flags()
        #expect(!flags.isEmpty && flags.count <= 8, "\(flags)")
        let options = try Self.options()
        #expect(!options.isEmpty)
        for option in options {
            #expect(!["-T", "--script", "--symbol-ordering-file"].contains { option.hasPrefix($0) }, "\(option)")
        }
    }

    @Test func theDocumentSaysWhatEachOptionIsFor() throws {
        let document = try Self.text("Docs/contributor/building.md")
        // These hand on the option that follows.
        for option in try Self.options() where !["-Xfrontend", "-z"].contains(option) {
            #expect(document.contains(option), "\(option)")
        }
    }
}
