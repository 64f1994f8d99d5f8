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

    @Test func theDocumentHasTheCommandOfTheMakefile() throws {
        let document = try Self.text("Docs/building.md")
        let start = try #require(document.range(of: "swift build -c release --product altnet ")).upperBound
        let end = try #require(document[start...].range(of: "\n```")).lowerBound
        #expect(Self.words(document[start..<end]).sorted() == (try Self.flags()).sorted())
    }

    @Test func hasEightFlagsAndNoLinkerScript() throws {
        // Words such as -Xswiftc hand on the flag that follows.
        let flags = try Self.flags().filter { !$0.hasPrefix("-X") }
        #expect(!flags.isEmpty && flags.count <= 8, "\(flags)")
        for word in flags.flatMap({ $0.split(separator: ",") }) {
            #expect(!["-T", "--script", "--symbol-ordering-file"].contains { word.hasPrefix($0) }, "\(word)")
        }
    }
}
