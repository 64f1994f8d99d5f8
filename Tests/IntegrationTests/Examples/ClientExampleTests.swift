import AgentModel
import AppProtocol
import AppServer
import DeveloperDevice
import Foundation
import Simulation
import Testing

/// The clients of Docs/examples do what they say, against the agent's own server in the network.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct ClientExampleTests {
    @Test(.enabled("needs python3 with the package cryptography") { ExampleClient.python.isThere })
    func python() async throws { try await Trial(.python).run() }

    @Test(.enabled("needs python3 with the package cryptography") { ExampleClient.webSocket.isThere })
    func webSocket() async throws { try await Trial(.webSocket, checks: false).run() }

    @Test(.enabled("needs node") { ExampleClient.node.isThere })
    func node() async throws { try await Trial(.node).run() }

    @Test(.enabled("needs Go 1.20 or newer (Tests/Servers/go --install)") { ExampleClient.go.isThere })
    func go() async throws { try await Trial(.go).run() }

    @Test(.enabled("needs gcc and libmbedtls-dev") { ExampleClient.c.isThere })
    func c() async throws { try await Trial(.c, checks: false, seals: false).run() }

    @Test(.enabled("needs javac and java") { ExampleClient.java.isThere })
    func java() async throws { try await Trial(.java).run() }

    @Test(.enabled("needs openssl and bash") { ExampleClient.shell.isThere })
    func shell() async throws { try await Trial(.shell, checks: false, seals: false).run() }

    /// Each is short enough to be read.
    @Test func areShort() throws {
        let folder = URL(fileURLWithPath: ExampleClient.path(""))
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter {
                ["py", "mjs", "go", "c", "h", "java", "sh", "dart", "swift"].contains(($0 as NSString).pathExtension)
            }
        #expect(files.count > 10)
        for file in files {
            let lines = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 220, "\(file)")
            #expect(lines.allSatisfy { $0.count <= 120 }, "\(file)")
        }
    }
}

/// What every client is put through.
private struct Trial {
    private let client: ExampleClient
    private let checks: Bool
    private let seals: Bool
    private let folder: URL

    /// - Parameters:
    ///   - checks: whether it compares itself with the vectors.
    ///   - seals: whether it seals passwords.
    init(_ client: ExampleClient, checks: Bool = true, seals: Bool = true) throws {
        (self.client, self.checks, self.seals) = (client, checks, seals)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func run() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try await client.make() == "")
        if checks {
            let check = try await client.run(["--check", ExampleClient.path("vectors.json")])
            #expect(check.output == "ok\n")
        }
        let device = ExampleDevice(certificate: try .random())
        try await device.serve { port in
            try await answers(device, port)
            if seals { try await sealing(device, port) }
            try await refusals(device, port)
        }
        // The same keys behind another certificate: the device was reset, or there is a middleman.
        try await ExampleDevice(certificate: .random()).serve { port in
            try await expect("certificateChanged", port, device.code(.owner))
        }
        if client != .webSocket {
            try await Impostor.serve { port in
                try await expect("notTheDevice", port, device.code(.owner, isPinned: false))
            }
        }
        #expect(try await ask(1, device.code(.owner), "capabilities.get").status == 1)
        try await wholeAgent()
    }

    /// The agent's own core, key file and keys of apps, in a simulated world.
    private func wholeAgent() async throws {
        var places = RunningDevice.Places(sockets: folder.path)
        (places.port, places.isAnnounced) = (0, false)
        let scenario = try ScenarioLibrary.scenario(named: "house-with-repeater")
        let running = try await RunningDevice(DeveloperDevice.Settings(scenario), at: places)
        let result: Result<Void, any Error>
        do { result = .success(try await change(running)) } catch { result = .failure(error) }
        await running.stop()
        try result.get()
    }

    /// A list is read, and sent back with one network more.
    private func change(_ running: RunningDevice) async throws {
        await running.begin()
        let code = running.pairingCode.uri()
        let (status, output) = try await ask(running.port, code, "backups.get")
        let before = try body(BackupList.self, of: output)
        #expect(status == 0 && !before.networks.isEmpty, "\(output)")
        let kept = before.networks.map { #"{"hash":"\#($0.hash.base64)"}"# }
        let added = seals ? #"{"ssid":"Attic","password":"correct horse"}"# : #"{"ssid":"Attic","security":"open"}"#
        let update = #"{"networks":[\#((kept + [added]).joined(separator: ","))],"ifRevision":\#(before.revision)}"#
        _ = try await ask(running.port, code, "backups.update", update)
        let after = try body(BackupList.self, of: try await ask(running.port, code, "backups.get").output)
        #expect(after.networks.map(\.ssid.description) == before.networks.map(\.ssid.description) + ["Attic"])
    }

    private func answers(_ device: ExampleDevice, _ port: Int) async throws {
        for code in [
            try device.code(.owner), try device.code(.owner, isPinned: false), try device.code(.phone),
            try device.code(.remote),
        ] {
            let (status, output) = try await ask(port, code, "capabilities.get")
            #expect(status == 0, "\(output)")
            let capabilities = try? body(Capabilities.self, of: output)
            #expect(capabilities?.deviceId == ExampleDevice.id, "\(output)")
        }
        #expect(try await ask(port, device.code(.owner), "capabilities.get", host: "::1").status == 0)
        let (status, output) = try await ask(port, device.code(.owner), "backups.update", #"{"networks":[]}"#)
        let list = try? body(BackupList.self, of: output)
        #expect(status == 0 && list?.revision == 8, "\(output)")
    }

    /// What a client prints: the body of the answer, or the answer itself where it has no parser.
    private func body<Body: Decodable & Sendable>(_ type: Body.Type, of output: String) throws -> Body {
        client == .shell
            ? try ServerLine.body(type, of: Array(output.utf8.dropLast()))
            : try JSONDecoder().decode(type, from: Data(output.utf8))
    }

    private func sealing(_ device: ExampleDevice, _ port: Int) async throws {
        let passwords = ["correct horse", "hunter2hunter2", String(repeating: "~", count: 63)]
        let update = """
            {"networks":[{"ssid":"Attic","password":"\(passwords[0])","security":"wpa2-wpa3","hidden":true},\
            {"ssid":"Café","security":"open"},{"ssidHex":"FF00fe","password":"\(passwords[2])"}],"ifRevision":7,\
            "home":{"ssid":"Küche","password":"\(passwords[1])"}}
            """
        let (status, output) = try await ask(port, device.code(.phone), "backups.update", update)
        #expect(status == 0, "\(output)")
        #expect(device.passwords() == [passwords[0], passwords[2], passwords[1]].map { Secret(text: $0) })
        let request = """
            {"ssid":"Attic","password":"\(passwords[0])","security":"wpa2-psk","confirmWithin":60,"joinOnce":true,\
            "besideUplink":true,"address":{"address":"192.168.1.20/24","gateway":"192.168.1.1",\
            "nameServers":["192.168.1.1","9.9.9.9"]}}
            """
        for key in [KeyName.owner, .remote] {
            let (status, output) = try await ask(port, device.code(key), "network.switch", request)
            #expect(status == 0, "\(output)")
            #expect(device.passwords() == [Secret(text: passwords[0])])
        }
    }

    private func refusals(_ device: ExampleDevice, _ port: Int) async throws {
        let certificate = device.certificate.fingerprint
        let wrong = Secret(text: "0123456789abcdef0123456789abcdee")
        let half = Secret(text: "0123456789abcdef")
        for (code, error) in [
            ("keyRefused", try ExampleDevice.code(.owner, wrong, certificate)),
            ("keyRefused", try ExampleDevice.code(.owner, half, certificate)),
            ("keyRefused", try device.code(.unknown)), ("keyRevoked", try device.code(.revoked)),
            ("keyExpired", try device.code(.expired)), ("malformed", "altnet://pair?v=2&id=a&key=0123456789abcdef"),
            ("malformed", "https://example.com/"),
        ] { try await expect(code, port, error) }
        let (status, output) = try await ask(port, device.code(.remote), "backups.update", #"{"networks":[]}"#)
        #expect(status == 1 && output.hasPrefix("notPermitted: "), "\(output)")
    }

    private func expect(_ error: String, _ port: Int, _ code: String) async throws {
        let (status, output) = try await ask(port, code, "capabilities.get")
        #expect(status == 1 && output.hasPrefix("\(error): "), "\(error) expected: \(output)")
    }

    private func ask(
        _ port: Int, _ code: String, _ type: String, _ body: String? = nil, host: String = "127.0.0.1"
    ) async throws -> (status: Int32, output: String) {
        let file = folder.appendingPathComponent("key")
        try Data((code + "\n").utf8).write(to: file)
        return try await client.run([host, "\(port)", file.path, type] + (body.map { [$0] } ?? []))
    }
}
