import AgentModel
import AppProtocol
import AppServer
import Foundation
import PipedPrograms
import Testing

/// The commands and scripts of Docs/protocol.md do what it says, against a server in the network.
@Suite(
    .enabled(
        if: PipedProgram.path(of: "openssl") != nil && PipedProgram.path(of: "python3") != nil,
        "openssl or python3 is not installed"))
struct ExampleScriptTests {
    private let scripts: ExampleScripts
    private let examples = ExampleScripts.documents.appendingPathComponent("examples").path
    private let device = DeviceKey.sample

    init() throws { scripts = try ExampleScripts(key: device.localKey.withBytes { Array($0) }) }

    @Test func theCommandForOpenSSLWorks() async throws {
        let text = try #require(ExampleScripts.text)
        let start = try #require(text.range(of: "    openssl s_client"))
        let end = try #require(text.range(of: "\n\n", range: start.lowerBound..<text.endIndex))
        let command = text[start.lowerBound..<end.lowerBound].replacing("bench-01", with: device.deviceId)
        try await withNetworkServer { _, port async throws in
            let output = try await scripts.run(
                "exec " + command.replacing("192.0.2.7:25863", with: "127.0.0.1:\(port)"),
                input: request(.getNetwork), expecting: 1)
            #expect(try answer(output.split(separator: "\n").first.map(String.init)) == ("a", nil))
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func thePythonClientAsks(host: String) async throws {
        try await withNetworkServer { _, port async throws in
            let output = try await ask("capabilities.get", at: host, port)
            let capabilities = try JSONDecoder().decode(Capabilities.self, from: Data(output.utf8))
            #expect(capabilities == FakeDevice.capabilities)
        }
    }

    @Test func thePythonClientIsToldOfErrors() async throws {
        try await withNetworkServer { _, port async throws in
            let body = #"{"networks":[{"ssid":"Attic"}]}"#
            #expect(
                try await ask("backups.update", body, at: "127.0.0.1", port).contains(#""code": "passwordMissing""#))
        }
    }

    /// From the script that seals to the script that sends, to the device that opens.
    @Test(.enabled("needs python3 with the package cryptography") { try await Self.canSeal() })
    func thePythonScriptsSendAPassword() async throws {
        let sealing = SealingDevice(device)
        try await withNetworkServer(sealing) { _, port async throws in
            let answer = try await ask("key.agree", at: "127.0.0.1", port)
            let key = try JSONDecoder().decode(SealingKey.self, from: Data(answer.utf8))
            let given = [
                "publicKey": Hex.string(key.publicKey), "localKey": device.localKey.withBytes { Hex.string($0) },
                "deviceId": device.deviceId, "ssidHex": Hex.string(Array("Attic".utf8)),
                "password": Hex.string(Array("correct horse".utf8)),
            ]
            let box = try await scripts.run(
                "exec python3 \(examples)/seal.py",
                input: String(decoding: JSONSerialization.data(withJSONObject: given), as: UTF8.self))
            let network =
                #"{"ssid":"Attic","sealed":{"keyId":"\#(key.keyId)","box":"\#(box.trimmingCharacters(in: .newlines))"}}"#
            let output = try await ask("backups.update", #"{"networks":[\#(network)]}"#, at: "127.0.0.1", port)
            let list = try JSONDecoder().decode(BackupList.self, from: Data(output.utf8))
            let hash = NetworkHash(
                localKey: device.localKey, ssid: try SSID("Attic"), password: Secret(text: "correct horse"))
            #expect(list.networks.map(\.hash) == [hash])
            #expect(
                try await ask("backups.update", #"{"networks":[\#(network)]}"#, at: "127.0.0.1", port)
                    .contains(#""code": "sealUsed""#))
        }
    }

    private func ask(_ type: String, _ body: String? = nil, at host: String, _ port: Int) async throws -> String {
        let body = body.map { " '\($0)'" } ?? ""
        return try await scripts.run(
            "exec python3 \(examples)/client.py \(host) \(port) \(device.deviceId) local-key \(type)\(body)")
    }

    private static func canSeal() async throws -> Bool {
        try await ExampleScripts(key: []).run("python3 -c 'import cryptography' && echo yes") == "yes\n"
    }
}

/// Opens what is sealed, and lists what was in it.
private struct SealingDevice: DeviceService {
    private let device: DeviceKey
    private let opener: SealOpener

    init(_ device: DeviceKey) {
        self.device = device
        opener = SealOpener(device)
    }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .agreeKey(let query): return .key(try opener.key(for: query, of: device.localKey))
        case .updateBackups(let update):
            var networks: [BackupNetwork] = []
            for case .new(let network) in update.networks {
                guard case .sealed(let sealed) = network.credential else { continue }
                let password = try opener.open(sealed, in: SealContext(of: network, in: update))
                networks.append(
                    BackupNetwork(
                        ssid: network.ssid,
                        hash: NetworkHash(localKey: device.localKey, ssid: network.ssid, password: password),
                        security: .wpa2wpa3, isHidden: false))
            }
            return .backups(BackupList(max: 3, revision: 1, networks: networks))
        default: throw ProtocolError(.unsupported, "a device for one test")
        }
    }
}

/// The commands in Docs/protocol.md, run in a shell beside a file with the device's key.
struct ExampleScripts {
    static let documents = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Docs")

    static let text = try? String(contentsOf: documents.appendingPathComponent("protocol.md"), encoding: .utf8)

    private let folder: SocketFolder

    init(key: [UInt8]) throws {
        folder = try SocketFolder()
        try Data(key + [10]).write(to: URL(fileURLWithPath: folder.path + "/local-key"))
    }

    /// - Parameter count: how many lines to wait for; then the program's input ends.
    /// - Returns: the program's output up to its end.
    func run(_ command: String, input: String = "", expecting count: Int = 0) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try Self.run(command, in: folder.path, input, count) })
            }
        }
    }

    private static func run(_ command: String, in folder: String, _ input: String, _ count: Int) throws -> String {
        let program = try PipedProgram("timeout", ["60", "env", "--chdir=\(folder)", "sh", "-c", command])
        try program.input.write(contentsOf: Data(input.utf8))
        var output = Data()
        while output.count(where: { $0 == 10 }) < count {
            let data = program.output.availableData
            if data.isEmpty { break }
            output += data
        }
        try program.input.close()
        output += try program.output.readToEnd() ?? Data()
        program.wait()
        return String(decoding: output, as: UTF8.self)
    }
}
