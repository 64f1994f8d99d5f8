import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Foundation
import Testing

@testable import altnet

/// The device that a command line means, before anything is sent.
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

    @Test func theNetworkIsFirstAndTheBrokerSecond() throws {
        try withKeyFile("altnet:pair?v=1&id=lamp-01&key=0123456789abcdef0123456789abcdef") { path in
            let key = try DeviceKey(deviceId: "lamp-01", localKey: Self.local)
            let url = "mqtts://broker.example.com/home"
            let atBroker = Endpoint.broker(
                BrokerRoute(url, user: "anna", secrets: "/home/anna/broker"), device: key)
            let options = [
                "status", "--broker", url, "--broker-user", "anna", "--broker-secrets", "/home/anna/broker",
                "--key-file", path,
            ]
            #expect(try endpoint(options) == atBroker)
            #expect(
                try endpoint(options + ["--device", "lamp"])
                    == .first(.network(host: "lamp", device: key), otherwise: atBroker))
            let environment = [
                "ALTNET_DEVICE_BROKER": url, "ALTNET_DEVICE_BROKER_USER": "anna",
                "ALTNET_DEVICE_BROKER_SECRETS": "/home/anna/broker", "ALTNET_DEVICE_KEY_FILE": path,
            ]
            #expect(try endpoint(["status"], environment: environment) == atBroker)
            #expect(
                try endpoint(["status", "--socket", "/tmp/t"], environment: environment) == .unixSocket(path: "/tmp/t"))
            #expect(throws: ValidationError.self) {
                try endpoint(["status"], environment: environment.merging(["ALTNET_DEVICE_BROKER": "lamp"]) { $1 })
            }
        }
        #expect(throws: ValidationError.self) { try endpoint(["status", "--broker", "mqtts://broker"]) }
        #expect(throws: ValidationError.self) { try endpoint(["status", "--broker-user", "anna"]) }
        for url in [
            "broker", "http://broker", "mqtts://", "mqtts://user:password@broker", "mqtt://broker/#", "mqtt://b//a",
        ] {
            #expect(throws: (any Error).self, "\(url)") { try connection(["status", "--broker", url]) }
        }
        #expect(throws: (any Error).self) { try connection(["status", "--broker", "mqtt://b", "--socket", "/tmp/s"]) }
    }

    @Test func aKeyFileSaysWhoseKeyItIs() throws {
        try withKeyFile("altnet:pair?v=1&id=lamp-01&key=0123456789abcdef0123456789abcdef\r\n") { path in
            let lamp = Endpoint.network(host: "lamp", device: try DeviceKey(deviceId: "lamp-01", localKey: Self.local))
            let options = ["status", "--device", "lamp", "--key-file", path]
            #expect(try endpoint(options) == lamp)
            #expect(try endpoint(options + ["--device-id", "lamp-01"]) == lamp)
            let other = #expect(throws: CommandFailure.self) { try endpoint(options + ["--device-id", "desk"]) }
            #expect([path, "lamp-01", "desk"].allSatisfy { other?.message.contains($0) == true })
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
        #expect(missing?.status == .badData && missing?.message.contains("/no/such.key") == true)
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
            #expect(errors.text.isEmpty == !isSaid)
            #expect(errors.text.hasPrefix("warning: ") == isSaid && errors.text.contains(path) == isSaid)
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
                #expect(run.errors.contains("uses no agent"))
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

/// The commands against a device in the network.
@Suite struct RemoteTests {
    private func device() throws -> ScriptedDevice {
        try ScriptedDevice {
            $0.phases = [
                SwitchStatus(switchId: "s-1", phase: .joining), SwitchStatus(switchId: "s-1", phase: .committed),
            ]
        }
    }

    @Test(arguments: [
        ["status"], ["status", "--json"], ["scan"], ["scan", "--no-scan", "--json"], ["backups"],
        ["backups", "list", "--json"],
        ["backups", "add", "Cellar"], ["backups", "add", "Cellar", "--open"], ["backups", "remove", "Attic"],
        ["backups", "set", "Attic"], ["backups", "set", "--stdin"], ["switch", "Attic", "--json", "--beside-uplink"],
        ["switch", "--new", "Cafe", "--join-once", "--no-wait", "--beside-uplink"], ["switch", "--confirm", "s-7"],
        ["history"],
        ["switch", "Unknown"],
    ])
    func isAsItIsOnTheDevice(arguments: [String]) async throws {
        let update = #"{"networks":[{"ssid":"Cafe","password":"12345678"}]}"#
        let (here, there) = (try device(), try device())
        let local = try await CommandRun.altnet(arguments, device: here, password: "12345678", input: update)
        let remote = try await CommandRun.remote(arguments, device: there, password: "12345678", input: update)
        #expect(remote.output == local.output)
        #expect(remote.errors == local.errors)
        #expect(remote.status == local.status)
        #expect(there.commands == here.commands)
        #expect(!(remote.output + remote.errors).contains("0123456789abcdef"))
    }

    /// A user at another machine does not see that the device has a cable: Wi-Fi moves beside it on request only.
    @Test func wiFiMovesBesideAnotherUplinkOnRequestOnly() async throws {
        let device = try device()
        _ = try await CommandRun.remote(["switch", "Attic"], device: device)
        let attic = NetworkReference.stored(try Sample.backup("Attic").hash)
        #expect(device.commands == [.switchNetwork(SwitchRequest(target: attic))])
    }

    @Test func eventsComeOverTheNetwork() async throws {
        let run = try await CommandRun.remote(["switch", "Attic"], device: device())
        #expect(run.errors == "  accepted...\n  joining...\n")
        #expect(run.output.hasPrefix("Connected to Attic"))
    }

    /// That the device answers over its new network is what a confirmation says.
    @Test func reachingTheDeviceConfirmsTheSwitch() async throws {
        let waiting = SwitchStatus(switchId: "s-1", phase: .waitingForConfirmation)
        let device = try ScriptedDevice { $0.phases = [waiting] }
        let run = try await CommandRun.remote(["switch", "Attic", "--confirm-within", "30"], device: device)
        #expect(run.status == 0)
        #expect(device.asked.contains(.confirmSwitch(SwitchQuery(switchId: "s-1"))))
        // The other client does not have to.
        #expect(!run.errors.contains("altnet switch --confirm"))

        let unwatched = try await CommandRun.remote(
            ["switch", "Attic", "--confirm-within", "30", "--no-wait"], device: try ScriptedDevice())
        #expect(unwatched.output.contains("switch --confirm s-1"))
    }

    @Test(arguments: [
        "altnet:pair?v=1&id=bench-01&key=fedcba9876543210", "altnet:pair?v=1&id=bench-02&key=0123456789abcdef",
    ])
    func aKeyThatDoesNotFit(key: String) async throws {
        let device = try device()
        let run = try await CommandRun.remote(["status"], device: device, key: key)
        #expect(run.status == 77)
        #expect(run.errors.contains("not fit"))
        #expect(device.asked.isEmpty)
        #expect(!run.errors.contains("0123456789abcdef") && !run.errors.contains("fedcba"))
        let json = try await CommandRun.remote(["status", "--json"], device: device, key: key)
        #expect(json.status == 77)
        #expect(json.errors.isEmpty)
        #expect(json.output.contains(#""exitStatus" : 77"#))
    }

    @Test func nothingListens() async throws {
        // Port 1 is tcpmux, which this machine does not run.
        let run = try await CommandRun.remote(["status"], device: device(), port: 1)
        #expect(run.status == 69)
        #expect(run.errors.hasPrefix("altnet: ") && run.errors.hasSuffix("127.0.0.1, port 1\n"))
    }

    @Test func noSuchName() async {
        let folder = FileManager.default.temporaryDirectory.path
        let key = folder + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: key) }
        _ = FileManager.default.createFile(
            atPath: key, contents: Data("0123456789abcdef".utf8), attributes: [.posixPermissions: 0o600])
        // Names under this domain never have an address (RFC 6761, 6.4).
        let run = await CommandRun.altnet(
            ["--device", "lamp.invalid", "--device-id", "lamp-01", "--key-file", key, "status"])
        #expect(run.status == 69)
        #expect(run.errors.contains("lamp-01 at lamp.invalid:25863"))
    }
}
