import Foundation
import PipedPrograms
import Randomness
import Testing

private let altnetProgram =
    URL(fileURLWithPath: BridgeBench.program).deletingLastPathComponent().appendingPathComponent("altnet").path

/// The completions of 'altnet fleet', asked of the shells themselves, with the scripts as they are packaged.
@Suite(
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: altnetProgram)
            && FileManager.default.isExecutableFile(atPath: BridgeBench.program), "needs altnet and altnet-mqtt"),
    .timeLimit(.minutes(3)))
struct FleetCompletionTests {
    /// A line as it is typed, and the words that there are to choose from.
    private static let lines: [(line: String, words: Set<String>)] = [
        ("altnet fleet ap", ["apply"]),
        ("altnet fleet list --r", ["--risk", "--reason"]),
        ("altnet fleet list --risk o", ["oneNetwork", "outages"]),
        ("altnet fleet apply --dry", ["--dry-run"]),
        ("altnet fleet undo --key", ["--keys", "--keys-from"]),
        ("altnet fleet apply scri", ["scripts/"]),
        ("altnet stat", ["status"]),
    ]

    /// Has a shell work in a folder whose subfolder `scripts` has the scripts.
    private func ask(_ shell: String, _ script: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let generate = FileManager.default.currentDirectoryPath + "/board/completions/generate"
        return try await offLoop {
            let (status, _) = try PipedProgram.run(
                generate, [altnetProgram, BridgeBench.program, folder.appendingPathComponent("scripts").path])
            try #require(status == 0)
            try Data(script.utf8).write(to: folder.appendingPathComponent("ask"))
            let path = try #require(PipedProgram.path(of: "env"))
            let (_, output) = try PipedProgram.run(path, ["--chdir=\(folder.path)", "timeout", "60", shell, "ask"])
            return String(decoding: output, as: UTF8.self)
        }
    }

    /// Lines of words.
    private func expect(_ output: String) {
        let answers = output.split(separator: "\n", omittingEmptySubsequences: false).map {
            Set($0.split(separator: " ").map(String.init))
        }
        for (number, (line, words)) in Self.lines.enumerated() {
            let answer = number < answers.count ? answers[number] : []
            // bash adds the slash of a folder where it shows it.
            #expect(Set(answer.map { $0 == "scripts" ? "scripts/" : $0 }) == words, "\(line)")
        }
    }

    @Test func bashCompletesThem() async throws {
        let asked = Self.lines.map { "ask \($0.line)\n" }.joined()
        expect(
            try await ask(
                "bash",
                """
                . scripts/altnet.bash
                function=$(complete -p altnet | sed 's/.* -F \\([^ ]*\\).*/\\1/')
                ask() {
                    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMPREPLY=()
                    COMP_POINT=${#COMP_LINE}
                    "$function" altnet "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                    echo "${COMPREPLY[@]}"
                }
                \(asked)
                """))
    }

    @Test(
        .enabled(if: PipedProgram.path(of: "fish") != nil, "fish is not installed"),
        .enabled(if: Rounds.areAll, "make thorough runs it"))
    func fishCompletesThem() async throws {
        let asked = Self.lines.map { "echo (complete -C '\($0.line)' | string replace -r '\\t.*' '')\n" }.joined()
        expect(
            try await ask(
                "fish", "source scripts/altnet.fish\nsource scripts/altnet-mqtt.fish\n" + asked))
    }

    /// zsh completes for a person alone: a shell inside of the shell has a terminal.
    @Test(
        .enabled(if: PipedProgram.path(of: "zsh") != nil, "zsh is not installed"),
        .enabled(if: Rounds.areAll, "make thorough runs it"))
    func zshCompletesThem() async throws {
        // Of a file's name it draws the rest alone, in pieces.
        for (line, words) in Self.lines where !words.contains("scripts/") {
            let pattern = words.map { "*\($0)*" }.joined(separator: "~^")
            let output = try await ask(
                "zsh",
                """
                setopt extendedglob
                zmodload zsh/zpty
                zpty shell zsh -f -i
                zpty -w shell 'PS1=; setopt nolistambiguous; fpath=($PWD/scripts $fpath)'
                zpty -w shell 'autoload -U compinit; compinit -D -u; stty cols 200; print RE''ADY'
                zpty -r shell heard '*READY*'
                zpty -n -w shell \("'\(line)'")$'\\t'
                zpty -r shell heard '\(pattern)'
                print -r -- "$heard"
                zpty -d shell
                """)
            for word in words { #expect(output.contains(word), "\(line): \(output)") }
        }
    }
}
