import ConnectivitySupport
import Foundation
import JSONValues
import PipedPrograms
import Testing

/// The files of `board/mosquitto` at a real mosquitto: certificates for many devices, and the topics of each.
// covers: seed/user-fleet
@Suite(
    .enabled(if: BridgeBench.isInstalled, "needs mosquitto, mosquitto-clients and altnet-mqtt"), .serialized,
    .timeLimit(.minutes(3)))
struct BrokerRecipeTests {
    private static let recipe =
        "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/") + "/board/mosquitto"

    private func enrol(_ fleet: String, _ arguments: [String], _ input: String = "") async throws -> Int32 {
        try await offLoop {
            try PipedProgram.run(Self.recipe + "/enrol", [fleet] + arguments, input: Data(input.utf8)).status
        }
    }

    @Test func eachDeviceHasItsOwnTopicsOnly() async throws {
        try await BridgeBench.run { bench in
            let (fleet, owners) = (bench.folder + "/fleet", try freePort())
            let ids = (1...19).map { "pump-\($0)" } + [bench.deviceId]
            #expect(try await enrol(fleet, ["broker", "localhost", "127.0.0.1"]) == 0)
            #expect(try await enrol(fleet, ["devices"], ids.joined(separator: "\n") + "\n") == 0)
            #expect(try await enrol(fleet, ["devices", "pump/1"]) == 1)
            #expect(try Set(FileManager.default.contentsOfDirectory(atPath: fleet + "/devices")) == Set(ids))

            try FileManager.default.copyItem(
                atPath: Self.recipe + "/altnet.acl", toPath: fleet + "/broker/altnet.acl")
            try "correct horse\n".write(toFile: fleet + "/password", atomically: true, encoding: .utf8)
            try "fleet.operator:correct horse\n".write(
                toFile: fleet + "/broker/users", atomically: true, encoding: .utf8)
            _ = try Program.run(["mosquitto_passwd", "-U", fleet + "/broker/users"])
            let settings = try String(contentsOfFile: Self.recipe + "/altnet.conf", encoding: .utf8)
                .replacingOccurrences(of: "/etc/mosquitto/altnet", with: fleet + "/broker")
                .replacingOccurrences(of: "listener 8883", with: "listener \(bench.port) 127.0.0.1")
                .replacingOccurrences(of: "listener 8884", with: "listener \(owners) 127.0.0.1")
            let broker = try Program(
                ["/usr/sbin/mosquitto", "-c", "FOLDER/conf"],
                files: ["conf": "user root\nlog_dest file FOLDER/log\n" + settings])
            try await bench.start(broker)
            func device(_ folder: String) -> [String] {
                [
                    "--cafile", fleet + "/ca.pem", "--cert", "\(fleet)/\(folder)/certificate.pem", "--key",
                    "\(fleet)/\(folder)/key.pem",
                ]
            }
            let owner = [
                "--cafile", fleet + "/ca.pem", "-p", "\(owners)", "-u", "fleet.operator", "-P", "correct horse",
            ]

            let everything = try bench.listen(owner)
            try bench.startBridge([
                "BROKER": "mqtts://localhost:\(bench.port)", "SECRETS": fleet + "/devices/" + bench.deviceId,
                "COMMANDS": "manage",
            ])
            try await everything.next(bench.base + "/status") { $0["name"]?.text == "Garden" }

            // Under the other device's client ID too.
            try await bench.publish("altnet/pump-1/status", "first", owner + ["-r"])
            let heard = try bench.listen(device("devices/pump-1") + ["-i", "altnet-\(bench.deviceId)"])
            try await heard.next("a kept message") { $0 == "altnet/pump-1/status first" }
            for topic in [bench.base + "/status", "altnet/pump-1/request", "altnet/firmware"] {
                try await bench.publish(topic, "forged", device("devices/pump-2"))
            }
            try await bench.publish("altnet/pump-2/status", "genuine", device("devices/pump-2"))
            try await everything.next("its own topic") { $0 == "altnet/pump-2/status genuine" }
            #expect(!everything.texts.contains { $0.hasSuffix("forged") })

            // The owner's commands reach the other device, and nothing of them the first one.
            let keys = try secret(bench.running.pairingCode.uri() + "\n", fleet + "/keys")
            let change = try secret(
                #"{"changeId":"2026-12","ssid":"Home","password":"correct horse 2","keepFor":600}"#, fleet + "/change")
            let applied = try await offLoop {
                try PipedProgram.run(
                    BridgeBench.program,
                    [
                        "fleet", "apply", change, "--keys", keys, "--broker", "mqtts://localhost:\(owners)", "--user",
                        "fleet.operator", "--secrets", fleet, "--json",
                    ])
            }
            #expect(applied.status == 0)
            let devices = JSONValue(line: Array(applied.output))?["devices"]
            #expect(devices?[bench.deviceId]?["phase"]?.text == "staged")
            try await bench.publish("altnet/pump-1/request", "end", owner)
            try await heard.next("the last message") { $0 == "altnet/pump-1/request end" }
            #expect(heard.texts.allSatisfy { $0.hasPrefix("altnet/pump-1/") }, "\(heard.texts)")

            #expect(!broker.log.contains("already connected"))

            try FileManager.default.copyItem(atPath: fleet + "/devices/pump-2", toPath: fleet + "/stolen")
            #expect(try await enrol(fleet, ["revoke", "pump-2"]) == 0)
            broker.kill()
            try await bench.start(broker)
            for (folder, isIn) in [("stolen", false), ("devices/pump-3", true)] {
                let arguments =
                    ["-V", "5", "-p", "\(bench.port)", "-t", "altnet/pump-3/status", "-m", "x"] + device(folder)
                let status = try await offLoop { try PipedProgram.run("mosquitto_pub", arguments).status }
                #expect((status == 0) == isIn, "\(folder)")
            }
        }
    }

    private func secret(_ text: String, _ path: String) throws -> String {
        try #require(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
        return path
    }
}
