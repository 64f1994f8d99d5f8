import AppClient
import AppServer
import Foundation
import Testing

@Suite struct SocketFileTests {
    let folder: SocketFolder

    init() throws { folder = try SocketFolder() }

    private func server(_ path: String? = nil, mode: UInt32 = 0o660) -> AppServer {
        AppServer(
            unix: UnixListenerSettings(path: path ?? folder.socket, mode: mode), service: FakeDevice(), hub: EventHub())
    }

    @Test(arguments: [UInt32(0o660), 0o600, 0o666])
    func hasItsMode(mode: UInt32) async throws {
        let server = server(mode: mode)
        try await server.start()
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.socket)
        #expect((attributes[.posixPermissions] as? NSNumber)?.uint32Value == mode)
        await server.stop()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func aStaleFileIsReplaced() async throws {
        try RawSocket.leaveStaleFile(at: folder.socket)
        try RawSocket.leaveStaleFile(at: folder.socket + ".new")
        let server = server()
        try await server.start()
        let client = try await DeviceClient(connectingTo: .unixSocket(path: folder.socket), timeout: .seconds(60))
        #expect(try await client.network() == FakeDevice.network)
        await server.stop()
    }

    @Test func aLiveServerIsLeftAlone() async throws {
        let first = server()
        try await first.start()
        await #expect(throws: AppServerError.alreadyServed(path: folder.socket)) { try await server().start() }
        let client = try await DeviceClient(connectingTo: .unixSocket(path: folder.socket), timeout: .seconds(60))
        #expect(try await client.network() == FakeDevice.network)
        await first.stop()
    }

    @Test func aServerThatDoesNotAcceptIsLeftAloneAndDoesNotBlock() async throws {
        let listener = try RawSocket.listening(at: folder.socket)
        var queued: [RawSocket] = []
        while let socket = try RawSocket.connectingWithoutWaiting(to: folder.socket) { queued.append(socket) }
        await #expect(throws: AppServerError.alreadyServed(path: folder.socket)) { try await server().start() }
        withExtendedLifetime((listener, queued)) {}
    }

    @Test func otherFilesAreNotRemoved() async throws {
        _ = FileManager.default.createFile(atPath: folder.socket, contents: Data("precious".utf8))
        await #expect(throws: AppServerError.notASocket(path: folder.socket)) { try await server().start() }
        #expect(FileManager.default.contents(atPath: folder.socket) == Data("precious".utf8))
    }

    @Test func impossiblePathsAreRefused() async throws {
        let long = folder.path + "/" + String(repeating: "x", count: 100)
        await #expect(throws: AppServerError.pathTooLong(path: long, maximum: 103)) { try await server(long).start() }
        await #expect(throws: AppServerError.self) { try await server(folder.path + "/no/such/folder").start() }
        await #expect(throws: AppServerError.notASocket(path: folder.path)) { try await server(folder.path).start() }
    }

    @Test func stoppingEndsConnectionsAndAllowsAnotherStart() async throws {
        let server = server()
        for _ in 0..<3 {
            try await server.start()
            let client = try await DeviceClient(connectingTo: .unixSocket(path: folder.socket), timeout: .seconds(60))
            let events = try await client.events()
            await server.stop()
            await #expect(throws: ClientError.disconnected) { for try await _ in events {} }
            await #expect(throws: ClientError.disconnected) { try await client.network() }
        }
    }

    /// Connections that are not served yet when the server stops.
    @Test func stoppingWhileConnectionsComeIn() async throws {
        for _ in 0..<30 {
            let server = server()
            try await server.start()
            var sockets: [RawSocket] = []
            while sockets.count < 16, let socket = try RawSocket.connectingWithoutWaiting(to: folder.socket) {
                sockets.append(socket)
            }
            await server.stop()
            for socket in sockets { #expect(try await socket.line() == nil) }
        }
    }

    /// The file of a successor that has taken the path over stays.
    @Test func onlyItsOwnFileIsRemoved() async throws {
        let server = server()
        try await server.start()
        try FileManager.default.removeItem(atPath: folder.socket)
        try RawSocket.leaveStaleFile(at: folder.socket)
        await server.stop()
        #expect(FileManager.default.fileExists(atPath: folder.socket))
    }
}
