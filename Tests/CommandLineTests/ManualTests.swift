import ArgumentParser
import Foundation
import Testing

@testable import altnet

/// The committed manual pages are those of the commands as they are. Where this fails: `make man`.
@Suite struct ManualTests {
    private struct Dump: Decodable {
        let command: Command
    }

    private struct Command: Decodable {
        let commandName: String
        let abstract: String?
        let discussion: String?
        let subcommands: [Command]?
        let arguments: [Argument]?
    }

    private struct Argument: Decodable {
        let shouldDisplay: Bool
        let abstract: String?
        let names: [Name]?

        struct Name: Decodable {
            let kind: String
            let name: String
        }
    }

    private static let folder = Document.root.appendingPathComponent("Docs/man")

    private func commands() async throws -> [(page: String, command: Command)] {
        let json = await CommandRun.altnet(["--experimental-dump-help"]).errors
        func all(_ command: Command, _ prefix: String) -> [(String, Command)] {
            let name = prefix + command.commandName
            return [(name + ".1", command)] + (command.subcommands ?? []).flatMap { all($0, name + "-") }
        }
        let root = try JSONDecoder().decode(Dump.self, from: Data(json.utf8)).command
        return all(root, "").filter { $0.0 != "altnet-help.1" }
    }

    /// Words only: how they are laid out is the generator's business.
    private func words(_ text: String) -> Set<Substring> {
        Set(text.replacing("\\e", with: "\\").split { !($0.isLetter || $0.isNumber || $0 == "\\") })
    }

    @Test func thereIsAPageForEachCommand() async throws {
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".1") }
        #expect(Set(pages) == Set(try await commands().map(\.page)))
    }

    /// Where the help breaks a line in the source only, the next one begins at the margin.
    @Test func paragraphsHaveNoGaps() async throws {
        for (page, command) in try await commands() {
            let paragraphs = (command.discussion ?? "").split(separator: "\n").filter { !$0.hasPrefix("  ") }
            #expect(paragraphs.allSatisfy { !$0.contains("  ") }, "\(page)")
        }
    }

    @Test func everyPageSaysWhatTheHelpSays() async throws {
        for (page, command) in try await commands() {
            let text = try String(contentsOf: Self.folder.appendingPathComponent(page), encoding: .utf8)
            let there = words(text)
            let arguments = (command.arguments ?? []).filter(\.shouldDisplay)
            let help = [command.abstract, command.discussion] + arguments.map(\.abstract)
            let missing = help.compactMap(\.self).flatMap { words($0).subtracting(there) }
            #expect(missing.isEmpty, "\(page): make man")
            let options = Set(arguments.flatMap { $0.names ?? [] }.filter { $0.kind == "long" }.map(\.name))
            let written = Set(
                text.matches(of: /\.It (?:Fl [a-z] , -|Fl -)([a-z-]+)/).map { String($0.output.1) })
            #expect(written == options, "\(page): make man")
        }
    }

    @Test(.enabled(if: ShellRun.path(of: "groff") != nil, "groff is not installed"))
    func groffHasNothingToSay() throws {
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".1") }
        let run = try ShellRun.run(
            "groff", ["-ww", "-mandoc", "-Tutf8", "-z"] + pages.map { Self.folder.appendingPathComponent($0).path })
        #expect(run.status == 0)
        #expect(run.output == "")
    }
}
