import ConnectivitySupport
import Foundation
import JSONValues
import PipedPrograms
import Testing

/// The owner of a fleet, as the program that ships, at a real mosquitto with a device behind the real bridge.
// covers: seed/user-fleet
@Suite(
    .enabled(if: BridgeBench.isInstalled, "needs mosquitto, mosquitto-clients and altnet-mqtt"), .serialized,
    .timeLimit(.minutes(3)))
struct FleetProgramTests {
    private func run(_ bench: BridgeBench, _ arguments: [String]) async throws -> (status: Int32, output: JSONValue?) {
        try await offLoop {
            let (status, output) = try PipedProgram.run(
                BridgeBench.program, ["fleet"] + arguments + ["--broker", "mqtt://127.0.0.1:\(bench.port)", "--json"])
            return (status, JSONValue(line: Array(output)))
        }
    }

    private func write(_ text: String, _ name: String, _ bench: BridgeBench, mode: Int = 0o600) throws -> String {
        let path = bench.folder + "/" + name
        try #require(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode]))
        return path
    }

    @Test func aPasswordIsStagedAndTakenBackByTheOwner() async throws {
        try await BridgeBench.run { bench in
            let broker = try Program(
                ["/usr/sbin/mosquitto", "-c", "FOLDER/conf"],
                files: [
                    "conf":
                        "listener \(bench.port) 127.0.0.1\nallow_anonymous true\nuser root\nlog_dest file FOLDER/log\n"
                ])
            try broker.start()
            try await broker.hasLogged(" running", times: 1)
            try bench.startBridge(["COMMANDS": "manage"])
            let everything = try bench.listen()
            try await everything.next(bench.base + "/status") { $0["name"]?.text == "Garden" }

            let list = try await run(bench, ["list"])
            #expect(list.status == 0 && list.output?.array?.first?["deviceId"]?.text == bench.deviceId)
            #expect(list.output?.array?.first?["online"] == .bool(true))
            #expect(list.output?.array?.first?["firmware"]?.text?.isEmpty == false)
            #expect(try await run(bench, ["list", "--reason", "none-such"]).output?.array == [])

            let key = bench.running.pairingCode.uri()
            let keys = try write("# the fleet\n" + key + "\n", "keys", bench)
            let password = "correct horse 2"
            let file = try write(
                #"{"changeId":"2026-12","ssid":"Home","password":"\#(password)","keepFor":600}"#, "change", bench)
            let dry = try await run(bench, ["apply", file, "--keys", keys, "--dry-run"])
            #expect(dry.status == 0 && dry.output?["entries"]?.array?.first?["step"]?.text == "stage")

            let applied = try await run(bench, ["apply", file, "--keys-from", "cat '\(keys)'"])
            #expect(applied.status == 0)
            #expect(applied.output?["devices"]?[bench.deviceId]?["phase"]?.text == "staged")
            try await everything.next(bench.base + "/backups") {
                $0["staged"]?.array?.first?["phase"]?.text == "staged"
            }
            // Again: nothing more is done.
            #expect(try await run(bench, ["apply", file, "--keys", keys]).output == applied.output)

            let undone = try await run(bench, ["undo", file, "--keys", keys])
            #expect(undone.status == 0)
            #expect(undone.output?["devices"]?[bench.deviceId]?["phase"]?.text == "undone")
            // A trial of a password that is wrong: the device comes back, and forgets it.
            let trial = try write(
                #"{"changeId":"2027-01","ssid":"Home","password":"\#(password)","confirmWithin":30}"#, "trial", bench)
            let tried = try await run(bench, ["apply", trial, "--keys", keys])
            #expect(tried.status == 1)
            let device = tried.output?["devices"]?[bench.deviceId]
            #expect(device?["phase"]?.text == "undone" && device?["reason"]?.text == "wrongKey")
            #expect(!everything.texts.contains { $0.contains(password) })
            #expect(everything.texts.contains { $0.contains(#"\"type\":\"password.stage\""#) })
        }
    }

    @Test func whatOthersCanReadIsRefused() async throws {
        try await BridgeBench.run { bench in
            let keys = try write(bench.running.pairingCode.uri() + "\n", "keys", bench)
            let file = try write(
                #"{"changeId":"c","ssid":"Home","password":"correct horse 2"}"#, "change", bench, mode: 0o644)
            #expect(try await run(bench, ["apply", file, "--keys", keys]).status == 65)
            let wrong = try write(#"{"changeId":"c","ssid":"Home"}"#, "wrong", bench)
            #expect(try await run(bench, ["apply", wrong, "--keys", keys]).status == 65)
            let right = try write(#"{"changeId":"c","ssid":"Home","password":"correct horse 2"}"#, "right", bench)
            #expect(try await run(bench, ["apply", right, "--keys-from", "false"]).status == 65)
        }
    }
}
