import AppProtocol
import ArgumentParser
import Foundation
import PipedPrograms
import Testing

@testable import altnet

@Suite struct UsageTests {
    @Test(arguments: [
        ["nonsense"], ["scan", "--frequency", "1"], ["scan", "--no-scan", "--ssid", "a"], ["scan", "--ssid", ""],
        ["scan", "--ssid", "\\z"], ["scan", "--ssid", "\\x4"], ["scan", "--ssid", String(repeating: "x", count: 33)],
        ["switch"], ["switch", "a", "--new", "b"], ["switch", "a", "--open"],
        ["switch", "--new", "a", "--timeout", "0"], ["switch", "a", "--confirm-within", "4"],
        ["switch", "a", "--confirm-within", "601"], ["switch", "a", "--confirm", "s-1"],
        ["switch", "--confirm", "s-1", "--no-wait"], ["switch", "--confirm", "s-1", "--join-once"],
        ["switch", "--confirm-within", "30"],
        ["switch", "--new", "a", "--open", "--password-stdin"], ["switch", "--new", "a", "--password", "12345678"],
        ["backups", "add"], ["backups", "add", "a", "password"], ["backups", "set"], ["backups", "set", "a", "--none"],
        ["backups", "set", "--stdin", "--none"], ["backups", "remove"], ["history", "--limit", "0"],
        ["history", "--limit", "201"], ["watch", "--count", "0"], ["diagnose", "x"],
        ["portal", "--answer", "pin"], ["portal", "--answer", "=1"], ["portal", "--cancel", "--answer", "a=b"],
        ["portal", "--answer", "a=b", "--answer", "a=c"], ["portal", "--cancel", "--password-stdin"],
    ])
    func isRefused(arguments: [String]) async {
        let run = await CommandRun.altnet(arguments)
        #expect(run.status == 64)
        #expect(run.errors.contains("Usage:"))
    }

    @Test(arguments: [
        ("statsu", "status"), ("hist", "history"), ("Status", "status"), ("backups ad", "add"),
        ("help swich", "switch"),
        ("--device a --key-file=b stauts --json", "status"), ("keyfile inspct", "inspect"), ("xyzzy", nil), ("a", nil),
        ("backups help ad", nil),
    ])
    func aMistypedCommandIsSuggested(line: String, name: String?) async throws {
        let arguments = line.split(separator: " ").map(String.init)
        #expect(try #require(UnknownCommand.find(in: arguments)).suggestion == name)
        let run = await CommandRun.altnet(arguments)
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("altnet: unknown command '") && run.errors.contains("\nUsage: altnet "))
        if let name { #expect(run.errors.contains("'\(name)'")) }
    }

    @Test(arguments: [
        ["status"], ["--socket", "statsu"], ["backups", "--json"], ["provision", "--help"], [], ["--device"],
    ])
    func aKnownCommandIsNot(arguments: [String]) { #expect(UnknownCommand.find(in: arguments) == nil) }

    /// The parser's errors are in the style of this program.
    @Test(arguments: [
        (["status", "--jsn"], "altnet: unknown option '--jsn': did you mean '--json'?\n"),
        (["scan", "--ssid", String(repeating: "x", count: 40)], "an SSID has 1 to 32 bytes"),
        (["keys", "add", "--role", "x"], "altnet: the value 'x' is invalid for '--role <role>': provide one of"),
        (["status", "--json=1"], "altnet: the option '--json' does not take any value, but '1' was specified\n"),
    ])
    func errorsHaveOneStyle(arguments: [String], text: String) async {
        let run = await CommandRun.altnet(arguments)
        #expect(run.status == 64 && run.errors.contains(text), "\(run.errors)")
    }

    /// Advice is in the terms of the command line, not of the protocol.
    @Test func adviceNamesOptions() {
        for advice in ErrorCode.allCases.compactMap(\.advice) {
            #expect(advice.first?.isUppercase == false && !advice.hasSuffix("."))
            #expect(!advice.contains(#/[a-z][A-Z]|[a-z]\.[a-z]/#), "\(advice)")
        }
        let refusal = ProtocolError(.unsupported, "its clock is not set", details: ["field": "body.expiresIn"])
        #expect(refusal.sentence == "its clock is not set: leave out --expires, or update the device")
        #expect(ProtocolError(.scanBusy, "wlan0: busy").sentence.hasPrefix("wlan0: busy; "))
        #expect(ProtocolError(.busy, "try again later").sentence == "try again later")
    }

    @Test(arguments: [
        ["status"], ["scan"], ["backups"], ["switch", "a"], ["watch"], ["history"], ["diagnose"], ["portal"],
    ])
    func withoutAnAgent(arguments: [String]) async {
        let run = await CommandRun.altnet(arguments + ["--socket", "/tmp/no/such/socket"])
        #expect(run.status == 69)
        #expect(run.errors.contains("/tmp/no/such/socket") && run.errors.contains("altnet.service"))
        let json = await CommandRun.altnet(arguments + ["--json", "--socket", "/tmp/no/such/socket"])
        #expect(json.status == 69)
        #expect(json.output.contains("\"exitStatus\" : 69"))
        #expect(json.errors.isEmpty)
    }

    @Test func everyExitStatusIsInTheHelp() {
        for status in ExitStatus.allCases {
            #expect(Altnet.helpMessage().contains("\n  \(status.rawValue) "))
        }
    }

    @Test func linesOfHelpFitATerminal() {
        for line in Altnet.helpMessage(columns: 80).split(separator: "\n") { #expect(line.count <= 80) }
    }
}

/// A page of the documentation.
enum Document {
    /// The repository's folder.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ name: String) -> String {
        (try? String(contentsOf: root.appendingPathComponent("Docs/\(name)"), encoding: .utf8)) ?? ""
    }
}

/// The commands' help, and the manual pages that `make docs` writes from it.
@Suite struct ManualTests {
    private struct Dump: Decodable {
        let command: Command
    }

    private struct Command: Decodable {
        let commandName: String
        let discussion: String?
        let subcommands: [Command]?
        let arguments: [Argument]?
    }

    private struct Argument: Decodable {
        let names: [Name]?

        struct Name: Decodable {
            let name: String
        }
    }

    private static let folder = Document.root.appendingPathComponent("Docs/man")

    private func commands() async throws -> [(page: String, command: Command)] {
        try Self.commands(in: await CommandRun.altnet(["--experimental-dump-help"]).output)
    }

    private static func commands(in json: String) throws -> [(page: String, command: Command)] {
        func all(_ command: Command, _ prefix: String) -> [(String, Command)] {
            let name = prefix + command.commandName
            return [(name + ".1", command)] + (command.subcommands ?? []).flatMap { all($0, name + "-") }
        }
        let root = try JSONDecoder().decode(Dump.self, from: Data(json.utf8)).command
        return all(root, "").filter { !$0.0.hasSuffix("-help.1") }
    }

    /// Compares with the list in Docs/reference/cli.md. A command with subcommands stands for its default.
    @Test func everyCommandButTheServicesHasJSON() async throws {
        let services = [
            "altnet-agent.1", "altnet-button.1", "altnet-providers.1", "altnet-provider-click-through.1",
            "altnet-improv-ble.1", "altnet-improv-serial.1", "altnet-hooks.1",
            // Its arguments are another program's, which has it.
            "altnet-fleet.1",
        ]
        for (page, command) in try await commands() where command.subcommands == nil && !services.contains(page) {
            let names = (command.arguments ?? []).flatMap { $0.names ?? [] }.map(\.name)
            #expect(names.contains("json"), "\(page)")
        }
    }

    /// A line that is broken in the source only does not start the next one with blanks.
    @Test func paragraphsHaveNoGaps() async throws {
        for (page, command) in try await commands() {
            let paragraphs = (command.discussion ?? "").split(separator: "\n").filter { !$0.hasPrefix("  ") }
            #expect(paragraphs.allSatisfy { !$0.contains("  ") }, "\(page)")
        }
    }

    @Test(.enabled(if: PipedProgram.path(of: "groff") != nil, "groff is not installed"))
    func groffHasNothingToSay() throws {
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".1") }
        let run = try ShellRun.run(
            "groff", ["-ww", "-mandoc", "-Tutf8", "-z"] + pages.map { Self.folder.appendingPathComponent($0).path })
        #expect(run.status == 0)
        #expect(run.output == "")
    }
}

/// Completions, asked of the shells themselves.
@Suite struct CompletionTests {
    private func script(_ shell: String) async -> String {
        await CommandRun.altnet(["--generate-completion-script", shell]).output
    }

    @Test func bashReadsItsScript() async throws { try await isRead(by: "bash") }

    @Test(.enabled(if: PipedProgram.path(of: "zsh") != nil, "zsh is not installed"))
    func zshReadsItsScript() async throws { try await isRead(by: "zsh") }

    @Test(.enabled(if: PipedProgram.path(of: "fish") != nil, "fish is not installed"))
    func fishReadsItsScript() async throws { try await isRead(by: "fish") }

    private func isRead(by shell: String) async throws {
        let script = await script(shell)
        #expect(script.contains("---completion"))
        // From a file: fish takes its standard input for a user.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID()).\(shell)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(script.utf8).write(to: file)
        let run = try ShellRun.run(shell, ["-n", file.path])
        #expect(run.status == 0)
        #expect(run.output.isEmpty)
    }

    /// The script's own function runs in bash, with a stand-in for altnet that notes what it is asked; then altnet is
    /// asked just that, of a device.
    @Test(arguments: [
        (["switch", "A"], ["Attic"]), (["switch", ""], ["BackupNet", "Attic"]),
        (["backups", "remove", "B"], ["BackupNet"]), (["backups", "set", "Attic", "B"], ["BackupNet"]),
        (["switch", "--no-wait", "A"], ["Attic"]),
    ])
    func bashCompletesStoredNetworks(words: [String], completions: [String]) async throws {
        let line = (["altnet"] + words).map { "'\($0)'" }.joined(separator: " ")
        let run = try ShellRun.run(
            "bash", ["--norc"],
            input: await script("bash") + """

                altnet() { printf '%s\\n' "$@" >asked; printf 'BackupNet\\nAttic\\n'; }
                COMP_WORDS=(\(line)) COMP_CWORD=\(words.count) COMP_LINE='altnet \(words.joined(separator: " "))'
                COMP_POINT=${#COMP_LINE}
                complete -p altnet
                function=$(complete -p altnet | sed 's/.* -F \\([^ ]*\\).*/\\1/')
                "$function" altnet "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
                printf '%s\\n' "${COMPREPLY[@]}" -- ; cat asked
                """)
        let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.first == "complete -o filenames -F _altnet altnet")
        let end = try #require(lines.firstIndex(of: "--"))
        #expect(Array(lines[1..<end]) == completions)

        let asked = Array(lines[(end + 1)...].dropLast())
        #expect(asked.first == "---completion")
        let told = try await CommandRun.completions(asked, device: ScriptedDevice())
        #expect(told == ["BackupNet", "Attic"])
    }

    @Test func withoutAnAgentThereIsNothing() async {
        let words = ["altnet", "switch", "--socket", "/tmp/no/such/socket", ""]
        #expect(await StoredNetworkCompletion.words(for: words, at: 4) == [])
        #expect(await StoredNetworkCompletion.words(for: ["altnet", "nonsense", ""], at: 2) == [])
        #expect(await StoredNetworkCompletion.words(for: [], at: -1) == [])
    }

    /// Bash expands what it is told, so that a name could be a command.
    @Test(arguments: [
        "$(touch /tmp/x)", "`id`", "a b", "-x", "~", "*", "a'b", "a\"b", "a\\b", "a;b", "家", "a\nb", "{a,b}", "a:b",
        "!!",
        "#a",
    ])
    func namesThatAShellWouldTakeForMoreAreGivenByHash(name: String) throws {
        let network = try Sample.backup(name)
        let list = BackupList(max: 3, revision: 1, networks: [network, try Sample.backup("Net_1.5-x")])
        let hash = String(network.hash.base64.prefix(8))
        #expect(StoredNetworkCompletion.words(for: list) == [hash, "Net_1.5-x"])
        #expect(try list.network(named: hash) == network)
    }

    @Test func oneNameForTwoNetworksIsGivenByHash() throws {
        let networks = [try Sample.backup("Attic"), try Sample.backup("Attic", password: "another one")]
        let words = StoredNetworkCompletion.words(for: BackupList(max: 3, revision: 1, networks: networks))
        #expect(words == networks.map { String($0.hash.base64.prefix(8)) })
    }
}

extension CommandRun {
    /// The candidates for a shell, of a device on a real socket.
    fileprivate static func completions(_ arguments: [String], device: ScriptedDevice) async throws -> [String] {
        try await serving(device) { socket in
            var arguments = arguments
            // As if it had been typed: the word to be completed is the last one.
            arguments.insert(contentsOf: ["--socket", socket], at: arguments.count - 1)
            let index = try #require(arguments.firstIndex(of: "--")) + 2
            arguments[index] = String((Int(arguments[index]) ?? 0) + 2)
            return await StoredNetworkCompletion.$patience.withValue(.seconds(600)) {
                do {
                    _ = try await Altnet.asyncParseAsRoot(arguments)
                    return []
                } catch {
                    // A blank is added for zsh, which another test may have asked about.
                    return Altnet.fullMessage(for: error).split(separator: "\n").map(String.init).filter { $0 != " " }
                }
            }
        }
    }
}
