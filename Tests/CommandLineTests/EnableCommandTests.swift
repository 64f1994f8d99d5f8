import Agent
import AgentModel
import Connectivity
import Foundation
import Glibc
import Testing

@testable import altnet

// covers: seed/user-maker
@Suite struct EnableCommandTests {
    /// A board whose interface program notes what it is asked.
    private struct Bench {
        let folder: String
        var asked: [String] {
            (try? String(contentsOfFile: folder + "/asked", encoding: .utf8))?.split(separator: "\n").map(String.init)
                ?? []
        }
        var hasKeyFile: Bool { FileManager.default.fileExists(atPath: folder + "/state/keyfile") }

        func enable(_ options: [String], answers: [String] = []) async -> CommandRun {
            await CommandRun.altnet(
                [
                    "enable", "--root", folder + "/root", "--settings", folder + "/settings", "--root-key",
                    folder + "/keys/root-key", "--helper", folder + "/interface",
                ] + options, answers: answers)
        }
    }

    /// - Parameter refuses: an action, and the status that it ends with.
    private func withBench(
        refuses: (action: String, status: Int)? = nil, _ body: (Bench) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let connections = folder + "/root/etc/NetworkManager/system-connections"
        try FileManager.default.createDirectory(atPath: connections, withIntermediateDirectories: true)
        try """
        [connection]
        type=wifi
        [wifi]
        ssid=HomeNet
        [wifi-security]
        key-mgmt=wpa-psk
        psk=correct horse

        """.write(toFile: connections + "/Home.nmconnection", atomically: true, encoding: .utf8)
        try "ALTNET_STATE_DIR=\(folder)/state\nALTNET_SOCKET=/nowhere\n"
            .write(toFile: folder + "/settings", atomically: true, encoding: .utf8)
        let refusal = refuses.map { "[ \"$1\" != \($0.action) ] || exit \($0.status)\n" } ?? ""
        // What is stored at that moment is part of the note.
        try """
        #!/bin/sh
        stored=; [ ! -e "\(folder)/state/keyfile" ] || stored=" after storing"
        echo "$*$stored" >>"\(folder)/asked"
        \(refusal)
        """.write(toFile: folder + "/interface", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder + "/interface")
        try await body(Bench(folder: folder))
    }

    @Test("The networks are stored before the interface is taken over, on trial or for good")
    func storesFirst() async throws {
        try await withBench { bench in
            let run = await bench.enable(["--trial", "3min", "--yes"])
            #expect(run.status == 0, "\(run.errors)")
            #expect(bench.asked == ["check", "trial 180 after storing"])
            #expect(run.output.contains("HomeNet is home"))
            #expect(run.output.contains("3 min") && run.output.contains("altnet enable --confirm"))
            #expect(!run.output.contains("correct horse"))
        }
        try await withBench { bench in
            let run = await bench.enable([], answers: ["yes", "none"])
            #expect(run.status == 0, "\(run.errors)")
            #expect(bench.asked == ["check", "enable after storing"])
        }
    }

    @Test("What is in the way ends it before anything is stored")
    func obstacle() async throws {
        try await withBench(refuses: ("check", 78)) { bench in
            let run = await bench.enable(["--yes"])
            #expect(run.status == 78)
            #expect(bench.asked == ["check"])
            #expect(!bench.hasKeyFile)
        }
    }

    @Test("A user who does not agree keeps the board as it is")
    func disagreement() async throws {
        try await withBench { bench in
            let run = await bench.enable(["--trial", "3min"], answers: ["no"])
            #expect(run.status == 1)
            #expect(bench.asked == ["check"])
            #expect(!bench.hasKeyFile)
        }
    }

    // covers: seed/enable-trial
    @Test("A take-over that fails is told")
    func failure() async throws {
        try await withBench(refuses: ("trial", 1)) { bench in
            let run = await bench.enable(["--trial", "90s", "--yes"])
            #expect(run.status == 1)
            #expect(run.errors.contains("trial 90 ended with 1"))
        }
    }

    // covers: seed/enable-trial
    @Test("A confirmation takes nothing over, and stores nothing")
    func confirmation() async throws {
        try await withBench { bench in
            #expect(await bench.enable(["--confirm"]).status == 0)
            #expect(bench.asked == ["confirm"])
            #expect(!bench.hasKeyFile)
            #expect(await bench.enable(["--confirm", "--trial", "3min"]).status == 64)
        }
    }

    @Test("The result is JSON where that is asked for")
    func json() async throws {
        try await withBench { bench in
            let run = await bench.enable(["--trial", "60", "--yes", "--json"])
            let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
            #expect(document["state"] as? String == "trial")
            #expect(document["trialSeconds"] as? Int == 60)
            let networks = document["networks"] as? [String: Any]
            #expect((networks?["networks"] as? [[String: Any]])?.first?["ssid"] as? String == "HomeNet")
            #expect(await bench.enable(["--json"]).status == 64)
        }
    }

    @Test("Altnet is disabled by the same program")
    func disabling() async throws {
        try await withBench { bench in
            let run = await CommandRun.altnet(["disable", "--helper", bench.folder + "/interface"])
            #expect(run.status == 0, "\(run.errors)")
            #expect(bench.asked == ["disable"])
        }
    }

    @Test("A network that altnet would leave is an obstacle, by name")
    func lostNetwork() throws {
        #expect(EnableCommand.obstacle(lost: []) == nil)
        let failure = try #require(EnableCommand.obstacle(lost: [try SSID("Work")]))
        #expect(failure.status == .failed)
        #expect(failure.message.contains("Work"))
    }

    @Test(
        "A trial takes from half a minute to a day",
        arguments: [
            ("30", 30), ("45s", 45), ("3min", 180), ("24h", 86400), ("29", nil), ("25h", nil), ("", nil), ("min", nil),
            ("-3min", nil), ("3 min", nil), ("3m", nil), ("9223372036854775807h", nil), ("99999999999999999999", nil),
        ] as [(String, Int?)])
    func duration(_ text: String, _ seconds: Int?) {
        #expect(Trial(argument: text)?.seconds == seconds)
    }

    @Test("The question for the internet check is asked once, and its answer is a setting")
    func asksForTheInternetCheck() async throws {
        try await withBench { bench in
            let settings = bench.folder + "/settings"
            chmod(settings, 0o640)
            let run = await bench.enable([], answers: ["yes", "debian"])
            #expect(run.status == 0, "\(run.errors)")
            let source = try AgentSettings.ofThisMachine(file: settings, [:]).connectivity.source
            #expect(source?.address.description == "http://network-test.debian.org/nm")
            #expect(source?.expected == .body("NetworkManager is online"))
            #expect(try FileManager.default.attributesOfItem(atPath: settings)[.posixPermissions] as? Int == 0o640)
            #expect(await bench.enable([], answers: ["yes"]).status == 0, "nothing more is asked")
        }
    }

    @Test(arguments: [
        ("http://check.example/204", "http://check.example/204" as String?), ("none", nil), ("", nil),
    ])
    func theLastAnswerCounts(answer: String, address: String?) async throws {
        try await withBench { bench in
            let settings = bench.folder + "/settings"
            let former = try String(contentsOfFile: settings, encoding: .utf8)
            #expect(await bench.enable(["--yes", "--internet-check", "debian"]).status == 0)
            let run = await bench.enable(["--yes", "--internet-check", answer])
            #expect(run.status == 0, "\(run.errors)")
            let source = try AgentSettings.ofThisMachine(file: settings, [:]).connectivity.source
            #expect(source?.address.description == address)
            #expect(try String(contentsOfFile: settings, encoding: .utf8).hasPrefix(former))
        }
    }

    @Test(arguments: ["https://check.example/204", "check.example", "http://a b/", "http://check.example/\"x"])
    func anAnswerThatCannotBeUsedChangesNothing(answer: String) async throws {
        try await withBench { bench in
            #expect(await bench.enable(["--yes", "--internet-check", answer]).status == 64)
            #expect(!bench.hasKeyFile && bench.asked.isEmpty)
            // At the prompt it is asked for again, and never ends the take-over.
            let run = await bench.enable([], answers: ["yes", answer, "debian"])
            #expect(run.status == 0 && run.errors.contains("URL"))
            let settings = try AgentSettings.ofThisMachine(file: bench.folder + "/settings", [:])
            #expect(settings.connectivity.source != nil)
        }
    }

    /// The settings file keeps whatever systemd and the agent take for a line.
    @Test(arguments: [
        "  ALTNET_VALIDATION_URL=http://a.example/", "ALTNET_VALIDATION_URL =http://a.example/",
        "ALTNET_VALIDATION_URL=http://a.example/\r", "ALTNET_VALIDATION_URL=http://a.example/\r\nALTNET_LAN_PORT=0\r",
    ])
    func anEarlierAnswerCounts(line: String) async throws {
        try await withBench { bench in
            let settings = bench.folder + "/settings"
            let former = try String(contentsOfFile: settings, encoding: .utf8)
            try (former + line + "\n").write(toFile: settings, atomically: true, encoding: .utf8)
            #expect(await bench.enable([], answers: ["yes"]).status == 0, "nothing more is asked")
            #expect(await bench.enable(["--yes", "--internet-check", "http://b.example/"]).status == 0)
            let read = try AgentSettings.ofThisMachine(file: settings, [:])
            #expect(read.connectivity.source?.address.description == "http://b.example/")
        }
    }

    @Test func settingsThatWouldBeInvalidStayAsTheyAre() async throws {
        try await withBench { bench in
            let settings = bench.folder + "/settings"
            let lines = "ALTNET_VALIDATION_URL=http://a.example/\nALTNET_REQUIRED_LEVEL=internet\n"
            let former = try String(contentsOfFile: settings, encoding: .utf8) + lines
            try former.write(toFile: settings, atomically: true, encoding: .utf8)
            #expect(await bench.enable(["--yes", "--internet-check", "none"]).status == 78)
            #expect(try String(contentsOfFile: settings, encoding: .utf8) == former)
            #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder).contains("settings.new") == false)
        }
    }

    @Test func aLinkToTheSettingsStaysALink() async throws {
        try await withBench { bench in
            let settings = bench.folder + "/settings"
            try FileManager.default.moveItem(atPath: settings, toPath: settings + ".real")
            try FileManager.default.createSymbolicLink(atPath: settings, withDestinationPath: settings + ".real")
            #expect(await bench.enable(["--yes", "--internet-check", "debian"]).status == 0)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: settings) == settings + ".real")
            #expect(try AgentSettings.ofThisMachine(file: settings, [:]).connectivity.source != nil)
        }
    }

    @Test func withoutATerminalNothingIsAsked() async throws {
        try await withBench { bench in
            #expect(await bench.enable(["--yes"]).status == 0)
            let run = await bench.enable([])
            #expect(run.status == 0, "\(run.errors)")
        }
    }
}
