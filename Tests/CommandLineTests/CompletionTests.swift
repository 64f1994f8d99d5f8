import AgentModel
import AppProtocol
import ArgumentParser
import Foundation
import Testing

@testable import altnet

/// What shells complete, asked of the shells themselves.
@Suite struct CompletionTests {
    private func script(_ shell: String) async -> String {
        await CommandRun.altnet(["--generate-completion-script", shell]).errors
    }

    @Test func bashReadsItsScript() async throws { try await isRead(by: "bash") }

    @Test(.enabled(if: ShellRun.path(of: "zsh") != nil, "zsh is not installed"))
    func zshReadsItsScript() async throws { try await isRead(by: "zsh") }

    @Test(.enabled(if: ShellRun.path(of: "fish") != nil, "fish is not installed"))
    func fishReadsItsScript() async throws { try await isRead(by: "fish") }

    private func isRead(by shell: String) async throws {
        let script = await script(shell)
        #expect(script.contains("---completion"))
        // From a file: fish takes its standard input for a person.
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
    /// What a shell is told that asks so, about a device on a real socket.
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
