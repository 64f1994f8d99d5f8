import Agent
import Foundation
import PipedPrograms
import TestTime
import Testing

@testable import altnet

/// The agent's process with every feature that keeps a file, on a kernel that has no Wi-Fi: each file that it makes is in the list
/// (`PersistentFile.all`), and each reset takes what the list says.
@Suite(
    .timeLimit(.minutes(5)), .disabled(if: access("/sys/module/cfg80211", F_OK) == 0, "this kernel has nl80211"))
struct AgentFilesTests {
    private static func files(in folder: String) -> Set<String> {
        let names = FileManager.default.enumerator(atPath: folder)?.allObjects.compactMap { $0 as? String } ?? []
        return Set(
            names.map { folder + "/" + $0 }.filter { path in
                var status = stat()
                return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
            })
    }

    private func altnet(_ arguments: [String], input: String = "") async -> CommandRun {
        await CommandRun.altnet(arguments, input: input)
    }

    @Test(arguments: [
        (["factory-reset", "--yes"], PersistentFile.RemovedBy.reset),
        (["factory-reset", "--yes", "--keep-identity"], .button),
    ])
    func everyFileIsInTheList(reset: [String], remover: PersistentFile.RemovedBy) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        for name in ["device", "device/metrics", "device/record"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let device = folder + "/device"
        try """
        ALTNET_STATE_DIR=\(device)/state
        ALTNET_SOCKET=\(device)/run/altnet.sock
        ALTNET_SUPPLICANT_DIR=\(device)/wpa
        ALTNET_ROOT_KEY=\(device)/keys/root-key
        ALTNET_KEYFILE_ANCHOR=\(device)/anchor/anchor
        ALTNET_RECORD=\(device)/record/record
        ALTNET_METRICS_FILE=\(device)/metrics/altnet.prom
        ALTNET_METRICS_LISTEN=\(device)/metrics/altnet.sock
        ALTNET_INTERFACE=none7
        ALTNET_LAN_PORT=0

        """.write(toFile: folder + "/conf", atomically: false, encoding: .utf8)
        let settings = try AgentSettings.ofThisMachine(file: folder + "/conf", [:])
        let given = ["--settings", folder + "/conf"]
        #expect(await altnet(["provision", "--network", "Shop", "--open"] + given).status == 0)

        let manager = try NotifySocket(folder + "/notify")
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
        let agent = try PipedProgram(
            program, ["agent"] + given, environment: ["NOTIFY_SOCKET=\(folder)/notify"], errors: .nothing)
        while true {
            let message = manager.next()
            try #require(!message.isEmpty)
            if message.contains("READY=1") { break }
        }
        let socket = ["--socket", settings.socketPath]
        let added = await altnet(["keys", "add", "Panel", "--lasting", "--output", folder + "/panel.key"] + socket)
        #expect(added.status == 0, "\(added.errors)")
        _ = await altnet(["setup-ap", "open"] + socket)
        // What the announcing unit reads (board/systemd/altnet-announce.path).
        #expect(await altnet(["name", "Küche"] + socket).status == 0)
        try await eventually("the name is in a file") {
            (try? String(contentsOfFile: device + "/run/device-name", encoding: .utf8)) == "Küche"
        }
        let running = Self.files(in: device)
        agent.end(SIGTERM)
        #expect(agent.wait() == 0)

        let made = running.union(Self.files(in: device))
        for path in made {
            #expect(PersistentFile.all.contains { $0.isAt(path, settings) }, "\(path) is not in the list")
        }
        for name in ["app-keys", "keyfile", "device-id", "local-key", "certificate"] {
            #expect(made.contains("\(device)/state/\(name)"), "\(name)")
        }
        for path in ["keys/root-key", "anchor/anchor", "record/record", "metrics/altnet.prom", "run/altnet.sock"] {
            #expect(made.contains("\(device)/\(path)"), "\(path)")
        }

        let run = await altnet(reset + given)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        let left = Self.files(in: device).filter { path in
            PersistentFile.all.contains { $0.isAt(path, settings) && $0.removedBy.contains(remover) }
        }
        #expect(left.isEmpty)
        let identity = Self.files(in: device).filter { $0.hasPrefix("\(device)/state/") }
        #expect(
            identity.map { $0.split(separator: "/").last ?? "" }.sorted()
                == (remover == .button ? ["certificate", "device-id", "local-key"] : []))
    }
}
