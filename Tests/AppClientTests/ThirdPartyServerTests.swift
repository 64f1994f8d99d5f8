import AgentModel
import AppClient
import AppProtocol
import Testing

/// The client with OpenSSL at the other end.
@Suite(.timeLimit(.minutes(2))) struct ThirdPartyServerTests {
    private static let key = "000102030405060708090a0b0c0d0e0f"
    private static let suite = ["-tls1_2", "-cipher", "ECDHE-PSK-CHACHA20-POLY1305"]
    private static let rightKey = ["-psk", key, "-psk_identity", "board-1"]

    private func device(key: [UInt8] = Array(0...15)) throws -> DeviceKey {
        try DeviceKey(deviceId: "board-1", localKey: Secret(key))
    }

    @Test func asksAndUnderstands() async throws {
        let server = try await OpenSSLServer(Self.suite + Self.rightKey)
        let client = try await DeviceClient(
            connectingTo: .network(host: "127.0.0.1", port: server.port, device: try device()))
        async let answer = client.startScan()
        let request = try await server.request()
        #expect(request.contains("scan.start"))
        try server.say(#"{"v":1,"id":"1","ok":true,"body":{"scanId":4}}"#)
        let scanId = try await answer.scanId
        #expect(scanId == 4)
        await client.close()
    }

    @Test func anotherKeyIsSaidSo() async throws {
        let server = try await OpenSSLServer(Self.suite + Self.rightKey)
        let endpoint = Endpoint.network(
            host: "127.0.0.1", port: server.port, device: try device(key: Array(repeating: 7, count: 16)))
        await #expect(throws: ClientError.keyRefused(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
    }

    @Test(arguments: [["-tls1_3"], ["-tls1_2", "-cipher", "ECDHE-PSK-AES128-CBC-SHA256"], ["-tls1_2", "-cipher", "PSK-CHACHA20-POLY1305"]])
    func nothingWeakerOrOtherIsSpoken(options: [String]) async throws {
        let server = try await OpenSSLServer(options + Self.rightKey)
        let endpoint = Endpoint.network(host: "127.0.0.1", port: server.port, device: try device())
        await #expect(throws: ClientError.notADevice(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
    }
}
