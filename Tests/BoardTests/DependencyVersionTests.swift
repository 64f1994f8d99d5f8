import Foundation
import Testing

/// `Package.versions` has the versions that a commit was tested with, and `board/ship/versions` names others.
@Suite struct DependencyVersionTests {
    private static let recorded = URL(fileURLWithPath: Board.folder).deletingLastPathComponent()
        .appendingPathComponent("Package.versions").path

    private func versions() throws -> [(name: String, version: String)] {
        try String(contentsOfFile: Self.recorded, encoding: .utf8).split(separator: "\n").map { line in
            let words = line.split(separator: " ").map(String.init)
            try #require(words.count == 2, "\(line)")
            return (words[0], words[1])
        }
    }

    /// A build with these dependencies, as SwiftPM notes them.
    private func build(_ versions: [(name: String, version: String)]) throws -> Board {
        let board = try Board()
        let dependencies = versions.map { name, version in
            """
            { "packageRef" : {
                "identity" : "\(name)",
                "name" : "\(name)"
              },
              "state" : { "checkoutState" : {
                "revision" : "0123",
                "version" : "\(version)"
              } } }
            """
        }
        let list = dependencies.joined(separator: ",\n")
        try "{ \"object\" : { \"dependencies\" : [\n\(list)\n] },\n  \"version\" : 7\n}\n"
            .write(toFile: board.place + "/workspace-state.json", atomically: true, encoding: .utf8)
        return board
    }

    private func run(_ arguments: String...) throws -> (status: Int32, lines: [String]) {
        let (status, said) = try Board.run("bash", [Board.folder + "/ship/versions"] + arguments)
        return (status, said.split(separator: "\n").map(String.init))
    }

    @Test func aBuildWithTheRecordedVersionsIsNotMentioned() throws {
        let board = try build(versions())
        let found = try run(board.place)
        #expect(found.status == 0 && found.lines.isEmpty, "\(found.lines)")
    }

    @Test func otherVersionsAreNamed() throws {
        var others = try versions()
        let gone = others.removeLast()
        others[0].version = "99.0.0"
        others.append((name: "swift-new", version: "1.0.0"))
        let board = try build(others)
        let found = try run(board.place)
        #expect(found.status == 0)
        #expect(found.lines.count == 3)
        #expect(found.lines.contains { $0.contains("\(others[0].name) is 99.0.0") })
        #expect(found.lines.contains { $0.contains("\(gone.name) \(gone.version)") })
        #expect(found.lines.contains { $0.contains("swift-new 1.0.0") })
    }

    @Test func theNoticesNameTheVersions() throws {
        let board = try build([(name: "swift-new", version: "1.2.3")])
        #expect(try run("--notices", board.place).status == 1)
        try FileManager.default.createDirectory(
            atPath: board.place + "/checkouts/swift-new", withIntermediateDirectories: true)
        try "thanks\n".write(
            toFile: board.place + "/checkouts/swift-new/NOTICE.txt", atomically: true, encoding: .utf8)
        let found = try run("--notices", board.place)
        #expect(found.status == 0 && found.lines == ["==== swift-new 1.2.3 ====", "thanks"])
    }

    @Test func aFolderWithoutABuildIsAnError() throws {
        let board = try Board()
        #expect(try run(board.place).status == 1)
    }

    /// Each dependency of Package.swift has a recorded version.
    @Test func everyDependencyIsRecorded() throws {
        let names = Set(try versions().map(\.name))
        let package = try String(
            contentsOfFile: URL(fileURLWithPath: Self.recorded).deletingLastPathComponent().path + "/Package.swift",
            encoding: .utf8)
        let dependencies = package.matches(of: /url: "[^"]*\/([a-z0-9-]+?)(\.git)?"/).map { String($0.1) }
        #expect(!dependencies.isEmpty)
        for name in dependencies { #expect(names.contains(name), "\(name)") }
    }
}
