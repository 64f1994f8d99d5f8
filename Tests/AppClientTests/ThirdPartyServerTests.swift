import AgentModel
import AppClient
import AppProtocol
import Foundation
import PipedPrograms
import Synchronization
import Testing

/// The client with OpenSSL at the other end.
@Suite(.enabled(if: PipedProgram.path(of: "openssl") != nil, "openssl is not installed"), .timeLimit(.minutes(10)))
struct ThirdPartyServerTests {
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

    @Test(arguments: [
        ["-tls1_3"], ["-tls1_2", "-cipher", "ECDHE-PSK-AES128-CBC-SHA256"],
        ["-tls1_2", "-cipher", "PSK-CHACHA20-POLY1305"],
    ])
    func nothingWeakerOrOtherIsSpoken(options: [String]) async throws {
        let server = try await OpenSSLServer(options + Self.rightKey)
        let endpoint = Endpoint.network(host: "127.0.0.1", port: server.port, device: try device())
        await #expect(throws: ClientError.notADevice(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
    }
}

/// `openssl s_server`: a TLS server of another project. It sends the lines that it is given.
final class OpenSSLServer: Sendable {
    let port: Int
    private let program: PipedProgram
    private let output: LineReader

    /// - Parameter options: besides the address, such as the key.
    init(_ options: [String]) async throws {
        let program = try PipedProgram("openssl", ["s_server", "-accept", "127.0.0.1:0", "-nocert"] + options)
        let output = LineReader(program.output)
        let accepting = try await output.line { $0.hasPrefix("ACCEPT ") }
        guard let port = accepting.split(separator: ":").last.flatMap({ Int($0) }) else { throw LineReader.End() }
        (self.program, self.output, self.port) = (program, output, port)
    }

    deinit {
        program.end(SIGKILL)
        program.wait()
    }

    /// The next line that the client sent, as it came.
    func request() async throws -> String { try await output.line { $0.hasPrefix("{") } }

    func say(_ line: String) throws {
        try program.input.write(contentsOf: Data((line + "\n").utf8))
    }
}

/// The lines of a pipe, as they come.
final class LineReader: Sendable {
    struct End: Error {}

    private let lines: AsyncStream<String>

    init(_ handle: FileHandle) {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let rest = Mutex(Data())
        handle.readabilityHandler = { handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                return continuation.finish()
            }
            rest.withLock { rest in
                rest += data
                while let end = rest.firstIndex(of: 10) {
                    continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
        }
        self.lines = lines
    }

    /// The next line like that; earlier lines are dropped.
    func line(where isWanted: (String) -> Bool) async throws -> String {
        for await line in lines where isWanted(line) { return line }
        throw End()
    }
}
