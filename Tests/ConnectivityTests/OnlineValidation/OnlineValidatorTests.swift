import AgentModel
import Testing

@testable import Connectivity

@Suite struct OnlineValidatorTests {
    /// What Docs/validation.md says, where a status is expected.
    @Test(
        arguments: [
            ("204 No Content\r\n", "", ValidationFinding.online),
            ("200 OK\r\n", "<html>Welcome</html>", .captive(portal: nil)),
            ("200 OK\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n", .captive(portal: nil)),
            ("200 OK\r\nContent-Encoding: gzip\r\n", "\u{1f}x", .captive(portal: nil)),
            ("200 OK\r\nContent-Length: 0\r\n", "", .failed(.unexpectedAnswer)),
            ("202 Accepted\r\nContent-Length: 0\r\n", "", .failed(.unexpectedAnswer)),
            (
                "302 Found\r\nLocation: https://portal.example/in?a#b\r\n", "",
                .captive(portal: "https://portal.example/in?a#b")
            ),
            ("301 Moved\r\n", "", .captive(portal: nil)),
            ("307 Away\r\nLocation: javascript:alert(1)\r\n", "", .captive(portal: nil)),
            ("511 Network Authentication Required\r\n", "<html>", .captive(portal: nil)),
            ("404 Not Found\r\n", "", .failed(.unexpectedAnswer)),
            ("403 Forbidden\r\n", "go away", .failed(.unexpectedAnswer)),
            ("500 Oops\r\n", "", .failed(.unexpectedAnswer)),
            ("503 Busy\r\nLocation: http://portal.example/\r\n", "", .failed(.unexpectedAnswer)),
        ])
    func statuses(_ head: String, _ body: String, _ finding: ValidationFinding) async throws {
        try await ScriptedServer.serving("HTTP/1.1 \(head)\r\n\(body)") { server in
            let found = try await look(at: server, status: "204")
            #expect(found.finding == finding)
            #expect(found.cost > server.received.utf8.count + OnlineValidator.connectionCost)
        }
    }

    @Test(
        arguments: [
            ("200 OK\r\n", "all is well", ValidationFinding.online),
            ("203 Fine\r\n", "all is well\r\n\t ", .online),
            ("200 OK\r\n", "all is well, and more", .captive(portal: nil)),
            ("200 OK\r\n", " all is well", .captive(portal: nil)),
            ("200 OK\r\n", "All is well", .captive(portal: nil)),
            ("200 OK\r\n", "all is", .captive(portal: nil)),
            ("200 OK\r\n", "all is well" + String(repeating: " ", count: 5000), .captive(portal: nil)),
            ("200 OK\r\n", "", .failed(.unexpectedAnswer)),
            ("204 No Content\r\n", "", .failed(.unexpectedAnswer)),
            ("302 Found\r\nLocation: /here\r\n", "all is well", .captive(portal: "http://127.0.0.1:PORT/here")),
            ("404 Not Found\r\n", "all is well", .failed(.unexpectedAnswer)),
        ])
    func bodies(_ head: String, _ body: String, _ finding: ValidationFinding) async throws {
        try await ScriptedServer.serving("HTTP/1.1 \(head)\r\n\(body)") { server in
            var expected = finding
            if case .captive(let portal?) = finding {
                expected = .captive(portal: portal.replacing("PORT", with: "\(server.port)"))
            }
            let found = try await look(at: server, body: "all is well\n").finding
            #expect(found == expected)
        }
    }

    @Test func aForeignPageCostsNotMoreThanItsBeginning() async throws {
        try await ScriptedServer.serving("HTTP/1.1 200 OK\r\n\r\n", then: .endlessly("<p>Buy!</p>")) { server in
            let byStatus = try await look(at: server, status: "204")
            #expect(byStatus.finding == .captive(portal: nil))
            #expect(byStatus.cost < 2 * WebLimits.readSize)
            let byBody = try await look(at: server, body: "ok")
            #expect(byBody.finding == .captive(portal: nil))
            #expect(byBody.cost < 3 * WebLimits.readSize)
        }
    }

    @Test func problems() async throws {
        try await ScriptedServer.serving("", then: .silence) { server in
            let found = try await look(at: server, within: .seconds(1)).finding
            #expect(found == .failed(.timedOut))
        }
        try await ScriptedServer.serving("nonsense\r\n") { server in
            let found = try await look(at: server).finding
            #expect(found == .failed(.unexpectedAnswer))
        }
        let port = try await ScriptedServer.serving("") { $0.port }
        let validator = OnlineValidator(source: try ValidationSource(url: "http://127.0.0.1:\(port)/"))
        let found = await validator.look(through: .loopback, within: .seconds(60))
        #expect(found == ValidationLook(finding: .failed(.connectionRefused), cost: OnlineValidator.connectionCost))
    }

    private func look(
        at server: ScriptedServer, status: String? = nil, body: String? = nil, within limit: Duration = .seconds(60)
    ) async throws -> ValidationLook {
        let url = try server.address("/check").description
        let source = try ValidationSource(url: url, status: status, body: body)
        return await OnlineValidator(source: source).look(through: .loopback, within: limit)
    }

    @Test func settings() throws {
        let source = try ValidationSource(url: "http://check.example/204")
        #expect(source.address.description == "http://check.example/204")
        #expect(source.expected == .status(204))
        #expect(try ValidationSource(url: "http://a/", status: "200").expected == .status(200))
        #expect(try ValidationSource(url: "http://a/", body: "ok \n").expected == .body("ok"))
    }

    @Test(
        arguments: [
            ("https://a/", nil, nil, InvalidValidationSource.encrypted), ("a", nil, nil, .url(.scheme)),
            ("", nil, nil, .url(.scheme)), ("http://u@a/", nil, nil, .url(.userInformation)),
            ("http://a/", "199", nil, .status), ("http://a/", "300", nil, .status), ("http://a/", "+204", nil, .status),
            ("http://a/", "", nil, .status), ("http://a/", nil, "", .body), ("http://a/", nil, " \n", .body),
            ("http://a/", nil, String(repeating: "x", count: 1025), .body), ("http://a/", "204", "ok", .statusAndBody),
        ])
    func settingsThatAreRefused(
        _ url: String, _ status: String?, _ body: String?, _ reason: InvalidValidationSource
    ) {
        #expect(throws: reason) { try ValidationSource(url: url, status: status, body: body) }
        #expect(!reason.description.isEmpty)
    }
}
