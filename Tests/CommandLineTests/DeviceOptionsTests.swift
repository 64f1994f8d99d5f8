import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Foundation
import Testing

@testable import altnet

/// Which device a command line means, before anything is sent.
@Suite struct DeviceOptionsTests {
    private static let local = Secret(text: "0123456789abcdef0123456789abcdef")

    /// A key file in a folder of its own.
    private func withKeyFile(
        _ content: String, mode: Int = 0o600, _ body: (_ path: String) throws -> Void
    ) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/lamp.key"
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        try body(path)
    }

    private func connection(_ arguments: [String]) throws -> DeviceOptions {
        try #require(try Altnet.parseAsRoot(arguments) as? any DeviceCommand).connection.device
    }

    private func endpoint(_ arguments: [String], environment: [String: String] = [:]) throws -> Endpoint {
        try connection(arguments).endpoint(.silent(environment))
    }

    @Test func optionsStandBeforeTheCommandOrAfterIt() throws {
        try withKeyFile("0123456789abcdef0123456789abcdef\n") { path in
            let options = ["--device", "lamp:4000", "--device-id", "lamp-01", "--key-file", path]
            let lamp = Endpoint.network(
                host: "lamp", port: 4000, device: try DeviceKey(deviceId: "lamp-01", localKey: Self.local))
            for command in [
                ["status"], ["scan"], ["backups"], ["backups", "list"], ["backups", "add", "x"],
                ["backups", "remove", "x"],
                ["backups", "set", "--none"], ["switch", "x"], ["watch"], ["history"],
            ] {
                #expect(try endpoint(options + command) == lamp)
                #expect(try endpoint(command + options) == lamp)
                #expect(try endpoint(options.prefix(2) + command + options.dropFirst(2)) == lamp)
            }
        }
    }

    @Test func theEnvironmentStandsIn() throws {
        try withKeyFile("0123456789abcdef0123456789abcdef") { path in
            let environment = [
                "ALTNET_DEVICE": "lamp", "ALTNET_DEVICE_ID": "lamp-01", "ALTNET_DEVICE_KEY_FILE": path,
                "ALTNET_SOCKET": "/tmp/s",
            ]
            let key = try DeviceKey(deviceId: "lamp-01", localKey: Self.local)
            #expect(try endpoint(["status"], environment: environment) == .network(host: "lamp", device: key))
            // An option counts more than a variable, be it of its own kind or of the other.
            #expect(
                try endpoint(["--device", "desk:1", "status"], environment: environment)
                    == .network(host: "desk", port: 1, device: key))
            #expect(
                try endpoint(["status", "--socket", "/tmp/t"], environment: environment) == .unixSocket(path: "/tmp/t"))
            #expect(
                try endpoint(["status"], environment: ["ALTNET_SOCKET": "/tmp/s", "ALTNET_DEVICE": ""])
                    == .unixSocket(path: "/tmp/s"))
            #expect(try endpoint(["status"]) == .unixSocket(path: "/run/altnet/altnet.sock"))
            #expect(throws: ValidationError.self) { try endpoint(["status"], environment: ["ALTNET_DEVICE": "a b"]) }
        }
    }

    @Test func aKeyFileSaysWhoseKeyItIs() throws {
        try withKeyFile("altnet:pair?v=1&id=lamp-01&key=0123456789abcdef0123456789abcdef\r\n") { path in
            let lamp = Endpoint.network(host: "lamp", device: try DeviceKey(deviceId: "lamp-01", localKey: Self.local))
            let options = ["status", "--device", "lamp", "--key-file", path]
            #expect(try endpoint(options) == lamp)
            #expect(try endpoint(options + ["--device-id", "lamp-01"]) == lamp)
            let other = #expect(throws: CommandFailure.self) { try endpoint(options + ["--device-id", "desk"]) }
            #expect(other?.message == "\(path) has the key of lamp-01, and not of desk")
        }
    }

    @Test(arguments: [
        "", "short", String(repeating: "k", count: 65), "altnet:pair?v=1&id=lamp-01", "altnet:pair?v=2&id=a&key=b",
        "altnet:elsewhere?", String(repeating: "0123456789", count: 1000),
    ])
    func aKeyFileWithoutAKey(content: String) throws {
        try withKeyFile(content) { path in
            let failure = #expect(throws: CommandFailure.self) {
                try endpoint(["status", "--device", "lamp", "--device-id", "lamp-01", "--key-file", path])
            }
            #expect(failure?.status == .badData)
            #expect(failure?.message.contains(path) == true)
            #expect(failure.map { content.isEmpty || !$0.message.contains(content) } == true)
        }
    }

    @Test func whatIsMissingIsSaid() throws {
        #expect(throws: ValidationError.self) { try endpoint(["status", "--device", "lamp"]) }
        #expect(throws: ValidationError.self) { try endpoint(["status", "--device-id", "lamp-01"]) }
        #expect(throws: ValidationError.self) { try endpoint(["status", "--key-file", "/tmp/no.key"]) }
        let missing = #expect(throws: CommandFailure.self) {
            try endpoint(["status", "--device", "lamp", "--key-file", "/no/such.key"])
        }
        #expect(missing == CommandFailure(.badData, "there is no key file at /no/such.key"))
        try withKeyFile("0123456789abcdef") { path in
            let nameless = #expect(throws: CommandFailure.self) {
                try endpoint(["status", "--device", "lamp", "--key-file", path])
            }
            #expect(nameless?.message.contains("--device-id") == true)
        }
    }

    @Test(arguments: [(0o600, false), (0o640, true), (0o604, true), (0o400, false)])
    func aKeyFileThatOthersCanRead(mode: Int, isSaid: Bool) async throws {
        try withKeyFile("0123456789abcdef", mode: mode) { path in
            let errors = Lines()
            var console = Console.silent()
            console.errors = { errors.append($0) }
            try connection(["status", "--device", "lamp", "--key-file", path]).warn(console)
            #expect(
                errors.text == (isSaid ? "warning: other users can read \(path), the device's key: chmod 600 it\n" : "")
            )
        }
    }

    @Test(arguments: [["agent", "--check-config"], ["keyfile", "inspect"], ["keyfile", "verify"]])
    func whatAsksNoAgentGoesWithoutOne(command: [String]) async {
        for options in [
            ["--device", "lamp"], ["--key-file", "x"], ["--socket", "/tmp/s"], ["--answer-within", "5"],
        ] {
            for arguments in [options + command, command + options] {
                let run = await CommandRun.altnet(arguments)
                #expect(run.status == 64)
                #expect(run.errors.contains("This command asks no agent"))
            }
        }
    }

    @Test func twoPlacesAreOneTooMany() async {
        let run = await CommandRun.altnet(["--device", "lamp", "status", "--socket", "/tmp/s"])
        #expect(run.status == 64)
    }

    @Test func theKeyIsNoArgument() async {
        for option in ["--key", "--local-key"] {
            #expect(await CommandRun.altnet(["status", option, "0123456789abcdef"]).status == 64)
        }
    }
}
