import AgentModel
import AppClient
import AppProtocol
import Foundation
import PipedPrograms
import Testing

@testable import Agent

/// After many requests no password and no key is in the agent's memory but where `Secret` keeps it: the program as
/// it runs, with the environment that `altnet.service` gives it.
@Suite(.timeLimit(.minutes(10))) struct RestingSecretTests {
    private static let statusRequests = 1_440

    @Test func afterManyRequests() async throws {
        let agent = try RunningProgram()
        let unix = try await agent.connect()
        var secrets = ["the local key": agent.localKey]
        for round in 0..<6 {
            for _ in 0..<Self.statusRequests / 6 { _ = try await unix.network() }
            let passwords = (0..<4).map { _ in Self.password() }
            for (index, password) in passwords.enumerated() {
                secrets["password \(round).\(index)"] = Array(password.utf8)
                let psk = PreSharedKey.derive(from: Secret(text: password), ssid: ssid)
                secrets["pre-shared key \(round).\(index)"] = psk.withBytes { Array($0) }
            }
            let lan = try await agent.connectThroughTheNetwork()
            // Plain and sealed, on the machine and through the network.
            _ = try await unix.updateBackups([network(passwords[0])])
            let plain = Request.Body.updateBackups(BackupsUpdate(networks: [network(passwords[1])]))
            guard case .updateBackups(let sealed) = try plain.sealed(with: await unix.agreeKey(), for: agent.device)
            else {
                throw ProtocolError(.internalError, "another request")
            }
            _ = try await unix.updateBackups(sealed.networks)
            try agent.askOverTLS(update(passwords[2]))
            _ = try await lan.updateBackups([network(passwords[3])])
            // Without a radio they are refused, and have been read all the same.
            for password in passwords {
                _ = try? await unix.switchNetwork(to: network(password), joinOnce: true)
                _ = try? await lan.switchNetwork(to: network(password))
            }
            for _ in 0..<10 { _ = try await lan.network() }
            await lan.close()
        }
        #expect(try await unix.backups().networks.map(\.ssid) == [ssid])

        let memory = ProcessMemory(pid: agent.program.pid)
        var found: [String] = []
        var kept: Set<String> = []
        for region in try memory.regions() {
            guard let content = memory.content(of: region) else { continue }
            for (name, secret) in secrets {
                for (form, bytes) in Self.forms(of: secret) where content.contains(bytes) {
                    if region.isOfSecrets {
                        kept.insert(name)
                    } else {
                        found.append(
                            "\(name), \(form), in \(region.name) \(String(region.range.lowerBound, radix: 16))")
                    }
                }
            }
        }
        #expect(found.sorted() == [])
        // The search finds the secrets that are there.
        #expect(kept.isSuperset(of: ["the local key", "password 5.3", "pre-shared key 5.3"]))
        await unix.close()
    }

    // MARK: Secrets that are looked for

    private let ssid: SSID

    init() throws { ssid = try SSID("Home") }

    /// With characters that JSON escapes.
    private static func password() -> String {
        let letters = (0..<20).map { _ in
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".randomElement()!
        }
        return String(letters.prefix(8)) + "\"\\/" + String(letters.dropFirst(8))
    }

    private static func forms(of secret: [UInt8]) -> [(String, [UInt8])] {
        let hex = Hex.string(secret)
        var forms = [
            ("raw", secret), ("hex", Array(hex.utf8)), ("HEX", Array(hex.uppercased().utf8)),
            ("base64", Array(Data(secret).base64EncodedString().utf8)),
        ]
        if let text = String(validating: secret, as: UTF8.self), text.contains("\\") {
            for slash in ["/", "\\/"] {
                let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
                    "/", with: slash)
                forms.append(("JSON", Array(escaped.utf8)))
            }
        }
        return forms
    }

    private func network(_ password: String) -> NetworkReference {
        .new(NewNetwork(ssid: ssid, credential: .password(Secret(text: password))))
    }

    private func update(_ password: String) throws -> [UInt8] {
        let body = Request.Body.updateBackups(BackupsUpdate(networks: [network(password)], ifRevision: nil))
        return try Request(id: "1", content: .device(body)).line()
    }
}

/// The agent in a folder of its own, without a radio.
private final class RunningProgram {
    let localKey = Array(UUID().uuidString.utf8)
    let device: DeviceKey
    let program: PipedProgram
    private let folder: String
    private let port: Int

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        port = try freePort()
        device = try DeviceKey(deviceId: "witness", localKey: Secret(localKey))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(localKey + [0x0a]).write(to: URL(filePath: folder + "/local-key"))
        try Data("witness\n".utf8).write(to: URL(filePath: folder + "/device-id"))
        chmod(folder + "/local-key", 0o600)
        chmod(folder, 0o700)
        try "ALTNET_STATE_DIR=\(folder)\nALTNET_SOCKET=\(folder)/socket\nALTNET_SUPPLICANT_DIR=\(folder)\n"
            .appending("ALTNET_INTERFACE=none7\nALTNET_LAN_PORT=\(port)\nALTNET_PRE_SHARED_KEY=yes\n")
            .write(toFile: folder + "/conf", atomically: false, encoding: .utf8)
        let manager = try NotifySocket(folder + "/notify")
        let executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
        program = try PipedProgram(
            executable, ["agent", "--settings", folder + "/conf"],
            environment: try Self.environmentOfTheUnit() + ["NOTIFY_SOCKET=\(folder)/notify"], errors: .nothing)
        while true {
            let told = manager.next()
            try #require(!told.isEmpty, "it never gets ready")
            if told.hasPrefix("READY=1") { break }
        }
    }

    deinit {
        program.end(SIGKILL)
        program.wait()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func connect() async throws -> DeviceClient {
        try await DeviceClient(connectingTo: .unixSocket(path: folder + "/socket"), timeout: .seconds(60))
    }

    /// The port is opened a moment after the agent is ready.
    func connectThroughTheNetwork() async throws -> DeviceClient {
        let endpoint = Endpoint.network(host: "127.0.0.1", port: port, device: device)
        while kill(program.pid, 0) == 0 {
            if let client = await Self.client(of: endpoint) { return client }
        }
        throw ClientError.disconnected
    }

    /// In a function of its own, for the compiler (Swift 6.3.1) ends at a typed error that is dropped in a loop.
    private static func client(of endpoint: Endpoint) async -> DeviceClient? {
        try? await DeviceClient(connectingTo: endpoint, timeout: .seconds(60))
    }

    /// A password that is not sealed, inside TLS: it is refused, and has been read all the same.
    func askOverTLS(_ line: [UInt8]) throws {
        let client = try PipedProgram(
            "openssl",
            [
                "s_client", "-quiet", "-tls1_2", "-cipher", "ECDHE-PSK-CHACHA20-POLY1305", "-psk", Hex.string(localKey),
                "-psk_identity", device.deviceId, "-connect", "127.0.0.1:\(port)",
            ])
        try client.input.write(contentsOf: Data(line + [0x0a]))
        var answer: [UInt8] = []
        while answer.last != 0x0a {
            let more = client.output.availableData
            guard !more.isEmpty else { break }
            answer += more
        }
        #expect(String(decoding: answer, as: UTF8.self).contains("sealRequired"))
        client.end(SIGKILL)
        client.wait()
    }

    private static func environmentOfTheUnit() throws -> [String] {
        let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let unit = try String(contentsOf: project.appending(path: "board/systemd/altnet.service"), encoding: .utf8)
        let lines = unit.split(separator: "\n").filter { $0.hasPrefix("Environment=") }
        let variables = lines.flatMap { $0.dropFirst("Environment=".count).split(separator: " ").map(String.init) }
        try #require(variables.contains { $0.hasPrefix("GLIBC_TUNABLES=") })
        return variables.filter { !$0.hasPrefix("ALTNET_") }
    }
}
