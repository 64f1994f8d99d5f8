import AgentModel
import Connectivity
import ConnectivitySupport
import PipedPrograms
import Testing

/// Mosquitto and nginx as they are, on the loopback interface.
@Suite(.enabled(if: Server.areInstalled, "mosquitto, nginx and openssl are needed"), .timeLimit(.minutes(10)))
struct RealServerTests {
    // covers: seed/connection-states
    @Test(arguments: ["tcp", "mqtt"])
    func mosquittoIsKilledAndComesBack(scheme: String) async throws {
        let port = try freePort()
        let server = try Server.mosquitto(port: port)
        let watch = try Watch("broker=\(scheme)://127.0.0.1:\(port)")
        #expect(watch.connection.status.state == .setup)
        watch.start()
        #expect(try await watch.changes.next() == .preparing)
        #expect(try await watch.changes.next() == .waiting(.connectionRefused))
        try server.start()
        #expect(try await watch.changes.next() == .ready)
        #expect(watch.connection.status.isOnline)
        server.kill()
        // Before that it breaks off, if the server had not taken the connection from its kernel yet.
        try await watch.becomes(.failed(.connectionRefused))
        try server.start()
        try await watch.becomes(.ready)
        watch.connection.stop()
        #expect(try await watch.changes.next() == .now(.cancelled, nil))
        #expect(watch.changes.unread.isEmpty)
    }

    @Test func mosquittoIsFrozenAndThawed() async throws {
        let port = try freePort()
        let server = try Server.mosquitto(port: port)
        try server.start()
        let watch = try Watch("broker=mqtt://127.0.0.1:\(port)")
        try await watch.ready()
        server.freeze()
        #expect(try await watch.changes.next() == .failed(.timedOut))
        #expect(try await watch.changes.next() == .doubt(.timedOut))
        #expect(await watch.connection.probe(within: .seconds(1)) == .timedOut)
        server.thaw()
        #expect(try await watch.changes.next() == .ready)
    }

    /// No name and no password: that is said, and so the server lives.
    @Test func mosquittoThatRefusesTheClientIsReady() async throws {
        let port = try freePort()
        let server = try Server.mosquitto(port: port, anonymous: false)
        try server.start()
        let watch = try Watch("broker=mqtt://127.0.0.1:\(port)")
        try await watch.ready()
        try await server.hasLogged("not authorised", times: 3)
        #expect(watch.changes.unread.isEmpty, "it was let in again and again")
        server.kill()
        // Before that it breaks off, if the server had not answered the connection yet.
        try await watch.becomes(.failed(.connectionRefused))
    }

    @Test func nginxIsFrozenKilledAndComesBack() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port)
        try server.start()
        let watch = try Watch("app=http://127.0.0.1:\(port)")
        try await watch.ready()
        server.freeze()
        #expect(try await watch.changes.next() == .failed(.timedOut))
        #expect(try await watch.changes.next() == .doubt(.timedOut))
        server.thaw()
        #expect(try await watch.changes.next() == .ready)
        server.kill()
        try await watch.becomes(.failed(.connectionRefused))
        try await watch.becomes(.doubt(.connectionRefused))
        try server.start()
        #expect(try await watch.changes.next() == .ready)
    }

    /// nginx ends connections on which nothing is said; that is no failure, however often it happens.
    @Test func nginxEndsWhatIsIdle() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port, options: "client_header_timeout 1s; error_log FOLDER/log info;")
        try server.start()
        let watch = try Watch("app=127.0.0.1:\(port)")
        try await watch.ready()
        try await server.hasLogged("client timed out", times: 3)
        #expect(watch.changes.unread.isEmpty)
        #expect(watch.connection.status.isOnline)
    }

    @Test func anotherProtocolIsNoAnswer() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port)
        try server.start()
        let watch = try Watch("broker=mqtt://127.0.0.1:\(port)")
        watch.start()
        try await watch.becomes(.waiting(.unexpectedAnswer))
    }
}
