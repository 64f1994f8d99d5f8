import AgentModel
import Connectivity
import ConnectivitySupport
import PipedPrograms
import Testing

/// Targets that have to prove who they are.
@Suite(.enabled(if: Server.areInstalled, "nginx and openssl are needed"), .timeLimit(.minutes(10)))
struct TLSTests {
    private let authority: Authority

    init() throws { authority = try Authority() }

    @Test func aServerThatProvesItsNameIsReady() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port, certificate: try authority.certify("DNS:localhost,IP:127.0.0.1"))
        try server.start()
        let trust = try TargetTrust(authorities: authority.path)
        for setting in ["a=tls://localhost:\(port)", "a=tls://127.0.0.1:\(port)", "a=https://localhost:\(port)"] {
            let watch = try Watch(setting, trust: trust)
            try await watch.ready()
            #expect(await watch.connection.probe(within: .seconds(5)) == nil)
        }
    }

    @Test func aServerOfAnotherNameIsNot() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port, certificate: try authority.certify("DNS:other.example,IP:127.0.0.9"))
        try server.start()
        let trust = try TargetTrust(authorities: authority.path)
        for setting in ["a=tls://localhost:\(port)", "a=https://127.0.0.1:\(port)"] {
            let watch = try Watch(setting, trust: trust)
            watch.start()
            try await watch.becomes(.waiting(.tlsFailed))
        }
    }

    /// No authority of the system has signed it; and without authorities no server is trusted.
    @Test func aServerWithoutAKnownAuthorityIsNot() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port, certificate: try authority.certify("DNS:localhost"))
        try server.start()
        for trust in [try TargetTrust(), nil] {
            let watch = try Watch("a=tls://localhost:\(port)", trust: trust)
            watch.start()
            try await watch.becomes(.waiting(.tlsFailed))
        }
    }

    /// The kernel of a frozen server still takes connections; keys it cannot agree upon.
    @Test func aFrozenServerIsNoticedWhenItIsAsked() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port, certificate: try authority.certify("DNS:localhost"))
        try server.start()
        let watch = try Watch("a=tls://localhost:\(port)", trust: try TargetTrust(authorities: authority.path))
        try await watch.ready()
        server.freeze()
        #expect(await watch.connection.probe(within: .seconds(1), freshness: .seconds(-1)) == .timedOut)
        server.thaw()
        #expect(await watch.connection.probe(within: .seconds(5), freshness: .seconds(-1)) == nil)
    }

    @Test func aServerWithoutTLSIsNot() async throws {
        let port = try freePort()
        let server = try Server.nginx(port: port)
        try server.start()
        let watch = try Watch("a=tls://localhost:\(port)", trust: try TargetTrust())
        watch.start()
        try await watch.becomes(.waiting(.tlsFailed))
    }
}
