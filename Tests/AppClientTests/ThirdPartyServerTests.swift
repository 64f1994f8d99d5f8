import AgentModel
import AppClient
import AppProtocol
import AppServer
import Foundation
import PipedPrograms
import Synchronization
import Testing

/// The client with OpenSSL at the other end.
// covers: seed/user-app-developer
@Suite(.enabled(if: PipedProgram.path(of: "openssl") != nil, "openssl is not installed"), .timeLimit(.minutes(10)))
struct ThirdPartyServerTests {
    private let device: DeviceKey
    private let endpoint: @Sendable (OpenSSLServer, DeviceKey) -> Endpoint

    init() throws {
        device = try DeviceKey(
            deviceId: "board-1", localKey: Secret(Array(0...15)), certificate: AppCredentials.certificate.fingerprint)
        endpoint = { .network(host: "127.0.0.1", port: $0.port, device: $1) }
    }

    @Test(arguments: ["-tls1_3", "-tls1_2"]) func asksAndUnderstands(version: String) async throws {
        let server = try await OpenSSLServer([version], AppCredentials.certificate)
        async let connecting = DeviceClient(connectingTo: endpoint(server, device))
        try await server.open(for: device)
        let client = try await connecting
        #expect(client.role == .switch)
        async let answer = client.startScan()
        let request = try await server.request()
        #expect(request.contains("scan.start"))
        try server.send(#"{"v":1,"id":"1","ok":true,"body":{"scanId":4}}"#)
        let scanId = try await answer.scanId
        #expect(scanId == 4)
        await client.close()
    }

    /// It cannot prove that it has the key, and takes any proof.
    @Test func whoDoesNotHaveTheKeyIsLeft() async throws {
        let server = try await OpenSSLServer([], AppCredentials.certificate)
        let other = try DeviceKey(deviceId: "board-1", localKey: Secret(Array(1...16)))
        let endpoint = endpoint(server, device)
        let connecting = Task { try await DeviceClient(connectingTo: endpoint) }
        try await server.open(for: other)
        await #expect(throws: ClientError.notTheDevice(endpoint)) { _ = try await connecting.value }
    }

    /// The app says nothing at all to a host with another certificate, be it one that some authority vouches for.
    @Test func anotherCertificateIsSaidSo() async throws {
        let server = try await OpenSSLServer([], .random())
        let endpoint = endpoint(server, device)
        await #expect(throws: ClientError.certificateChanged(endpoint)) {
            try await DeviceClient(connectingTo: endpoint)
        }
    }

    @Test(arguments: [
        ([#"{"v":1,"nonce":"AAAA"}"#], "notADevice"), (["220 mail.example.com ESMTP"], "notADevice"),
        ([#"{"v":2,"nonce":"AAAA"}"#], "notADevice"),
        ([greeting, #"{"v":1,"id":"open","ok":false,"error":{"code":"keyRefused","message":""}}"#], "keyRefused"),
        ([greeting, #"{"v":1,"id":"open","ok":false,"error":{"code":"keyRevoked","message":""}}"#], "keyRevoked"),
        ([greeting, #"{"v":1,"id":"open","ok":true,"body":{}}"#], "notADevice"),
    ])
    func otherAnswersAreErrors(lines: [String], error: String) async throws {
        let server = try await OpenSSLServer([], AppCredentials.certificate)
        let endpoint = endpoint(server, device)
        let connecting = Task { try await DeviceClient(connectingTo: endpoint, timeout: .seconds(60)) }
        for line in lines { try server.send(line) }
        let expected: ClientError =
            switch error {
            case "keyRefused": .keyRefused(endpoint)
            case "keyRevoked": .refused(ProtocolError(.keyRevoked, ""))
            default: .notADevice(endpoint)
            }
        await #expect(throws: expected) { _ = try await connecting.value }
    }
}

private let greeting = #"{"v":1,"nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}"#

/// `openssl s_server`: a TLS server of another project. It sends the lines that it is given.
final class OpenSSLServer: Sendable {
    let port: Int
    private let program: PipedProgram
    private let output: LineReader

    private let certificate: DeviceCertificate

    /// - Parameter options: besides the address and the certificate.
    init(_ options: [String], _ certificate: DeviceCertificate) async throws {
        self.certificate = certificate
        let file = FileManager.default.temporaryDirectory.appending(path: "altnet-\(UUID().uuidString).pem")
        try certificate.pem.withBytes { try Data($0).write(to: file) }
        defer { try? FileManager.default.removeItem(at: file) }
        let program = try PipedProgram(
            "openssl", ["s_server", "-accept", "127.0.0.1:0", "-cert", file.path] + options)
        let output = LineReader(program.output)
        let accepting = try await output.line { $0.hasPrefix("ACCEPT ") }
        guard let port = accepting.split(separator: ":").last.flatMap({ Int($0) }) else { throw LineReader.End() }
        (self.program, self.output, self.port) = (program, output, port)
    }

    deinit {
        program.end(SIGKILL)
        program.wait()
    }

    /// Opens the session as a device does that has this key, whatever the client's proof is.
    func open(for device: DeviceKey) async throws {
        let nonce = Nonce.random()
        try send(String(decoding: Greeting(nonce: nonce).line(), as: UTF8.self))
        let request = try Request(line: Array(try await request().utf8))
        guard case .open(let opening) = request.content else { throw LineReader.End() }
        let transcript = SessionTranscript(
            deviceId: device.deviceId, certificate: certificate.fingerprint, deviceNonce: nonce,
            appNonce: opening.nonce)
        let opened = SessionOpened(proof: transcript.proof(of: .device, with: device.localKey), role: .switch)
        try send(String(decoding: Response(id: request.id, result: .success(.opened(opened))).line(), as: UTF8.self))
    }

    /// The next line that the client sent, as it came.
    func request() async throws -> String { try await output.line { $0.hasPrefix("{") } }

    func send(_ line: String) throws {
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
