import AppProtocol
import Foundation
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
        ["status"], ["scan"], ["backups"], ["switch", "a"], ["watch"], ["history"], ["diagnose"], ["portal"],
    ])
    func withoutAnAgent(arguments: [String]) async {
        let run = await CommandRun.altnet(arguments + ["--socket", "/tmp/no/such/socket"])
        #expect(run.status == 69)
        #expect(run.errors == "altnet: no agent answers at /tmp/no/such/socket: is altnet.service running?\n")
        let json = await CommandRun.altnet(arguments + ["--json", "--socket", "/tmp/no/such/socket"])
        #expect(json.status == 69)
        #expect(json.output.contains("\"exitStatus\" : 69"))
        #expect(json.errors.isEmpty)
    }

    @Test func everyExitStatusIsDocumented() {
        for status in ExitStatus.allCases {
            #expect(Altnet.helpMessage().contains("\n  \(status.rawValue) "))
            #expect(Document.text("cli.md").contains("| \(status.rawValue) |"))
        }
        for code in ErrorCode.allCases {
            let row = Document.text("protocol.md").split(separator: "\n").first {
                $0.hasPrefix("| `\(code.rawValue)` |")
            }
            #expect(row?.contains("| \(ExitStatus(code.kind).rawValue) |") == true)
        }
    }

    @Test func everyCommandIsDocumented() {
        for command in [
            "status", "scan", "backups list", "backups add", "backups remove", "backups set", "switch",
            "switch --confirm",
            "watch", "history", "discover", "pair", "diagnose", "portal",
        ] {
            #expect(Document.text("cli.md").contains("altnet \(command)"))
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
