import AgentModel
import Testing

@testable import Connectivity

@Suite struct OnlineValidatorTests {
    /// The rows of Docs/integrator/connectivity.md for an expected status.
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
        #expect(found == ValidationCheck(finding: .failed(.connectionRefused), cost: OnlineValidator.connectionCost))
    }

    private func look(
        at server: ScriptedServer, status: String? = nil, body: String? = nil, within limit: Duration = .seconds(60)
    ) async throws -> ValidationCheck {
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

@Suite struct CaptivePortalTests {
    /// RFC 8908, 6.
    @Test func theExamplesOfTheDocument() throws {
        let captive = try state(
            """
            { "captive": true, "user-portal-url": "https://example.org/portal.html" }
            """)
        #expect(captive == CaptiveState(isCaptive: true, userPortal: "https://example.org/portal.html"))
        let open = try state(
            """
            { "captive": false, "user-portal-url": "https://example.org/portal.html",
              "venue-info-url": "https://flight.example.com/entertainment",
              "seconds-remaining": 326, "can-extend-session": true }
            """)
        #expect(
            open
                == CaptiveState(
                    isCaptive: false, userPortal: "https://example.org/portal.html",
                    venueInfo: "https://flight.example.com/entertainment", canExtendSession: true,
                    secondsRemaining: 326))
    }

    // covers: seed/captive-portal-api
    @Test(
        arguments: [
            (
                #"{"captive":false,"bytes-remaining":9007199254740991}"#,
                CaptiveState(isCaptive: false, bytesRemaining: 9_007_199_254_740_991)
            ),
            // Unknown members are passed over, and null is as if the member were not there.
            (#"{"captive":true,"captive-since":[1,{"a":2}],"seconds-remaining":null}"#, CaptiveState(isCaptive: true)),
            // A portal without proof of its identity, and none.
            (#"{"captive":true,"user-portal-url":"http://portal.example/"}"#, CaptiveState(isCaptive: true)),
            (
                #"{"captive":true,"user-portal-url":"javascript:alert(1)","venue-info-url":""}"#,
                CaptiveState(isCaptive: true)
            ),
        ])
    func isTaken(_ json: String, _ expected: CaptiveState) throws {
        #expect(try state(json) == expected)
    }

    // covers: seed/captive-portal-api
    @Test(
        arguments: [
            "", "null", "true", "[]", "{}", #"{"captive":"true"}"#, #"{"captive":1}"#, #"{"captive":null}"#,
            #"{"Captive":true}"#, #"{"captive":true"#, #"{"captive":true}}"#,
            #"{"captive":true,"can-extend-session":1}"#,
            #"{"captive":false,"seconds-remaining":-1}"#, #"{"captive":false,"seconds-remaining":0.5}"#,
            #"{"captive":false,"seconds-remaining":1e400}"#,
            #"{"captive":false,"seconds-remaining":10e9223372036854775807}"#,
            #"{"captive":false,"bytes-remaining":-0.01e-9223372036854775807}"#,
            #"{"captive":false,"seconds-remaining":1.0000000000000001}"#, #"{"captive":true,}"#,
            #"{"captive":false,"seconds-remaining":"60"}"#,
            #"{"captive":false,"bytes-remaining":9007199254740992}"#,
            #"{"captive":false,"bytes-remaining":99999999999999999999999}"#,
            #"{"captive":true,"user-portal-url":["https://a/"]}"#, #"{"captive":true,"venue-info-url":{}}"#,
            "{\"captive\":true,\"x\":\"\u{0}\"}", "\u{feff}{\"captive\":true}",
            #"{"captive":true,"x":"# + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}",
            #"{"captive":true,"x":""# + String(repeating: "x", count: 16 * 1024) + #""}"#,
        ])
    func isMalformed(_ json: String) throws {
        #expect {
            try state(json)
        } throws: {
            guard case .malformed(let reason)? = $0 as? CaptivePortalFailure else { return false }
            return reason.utf8.count < 80
        }
    }

    @Test(arguments: [
        [0xff, 0xfe, 0x7b, 0x00], [0x7b, 0x22, 0xc0, 0x22, 0x3a, 0x31, 0x7d], [0x00, 0x7b, 0x00, 0x7d],
    ])
    func isNoText(_ bytes: [UInt8]) {
        let failure = #expect(throws: CaptivePortalFailure.self) { try CaptiveState(json: bytes) }
        guard case .malformed(let reason)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reason.contains("UTF-8"))
    }

    /// Every mangled answer is read, or refused.
    @Test func nestingIsSeenWhereverItIs() {
        let deep = String(repeating: #"{"a":["#, count: 9) + String(repeating: "]}", count: 9)
        let failure = #expect(throws: CaptivePortalFailure.self) { try state(deep) }
        guard case .malformed(let reason)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reason.contains("deep"))
        let inText = #"{"captive":true,"x":""# + String(repeating: #"[\""#, count: 50) + #""}"#
        #expect(throws: Never.self) { try state(inText) }
    }

    @Test func asking() async throws {
        let json = #"{"captive":true}"#
        let good = "HTTP/1.1 200 OK\r\nContent-Type: application/captive+json\r\n\r\n" + json
        let notFound = CaptivePortalFailure.status(404)
        try await ask(good) { server, result in
            #expect(result == .success(CaptiveState(isCaptive: true)))
            #expect(server.received.contains("Accept: application/captive+json\r\n"))
        }
        try await ask(good.replacing("captive+json", with: "json")) { #expect($1 == .failure(.contentType)) }
        try await ask("HTTP/1.1 404 Not Found\r\n\r\n") { #expect($1 == .failure(notFound)) }
        try await ask("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n") { #expect($1 == .failure(.status(302))) }
        let long = String(repeating: " ", count: CaptivePortalAPI.bodyLimit)
        try await ask(good + long) { #expect($1 == .failure(.web(.tooLarge(.body)))) }
    }

    @Test func withoutASourceNothingIsAsked() async {
        let api = CaptivePortalAPI()
        for (url, failure) in [
            ("http://127.0.0.1/", CaptivePortalFailure.notEncrypted),
            ("urn:ietf:params:capport:unrestricted", .address(.scheme)),
        ] {
            let look = await api.look(url, through: .loopback, within: .seconds(60))
            #expect(look.result == .failure(failure) && look.cost == 0)
        }
    }

    private func state(_ json: String) throws(CaptivePortalFailure) -> CaptiveState {
        try CaptiveState(json: Array(json.utf8))
    }

    private func ask(
        _ answer: String, _ check: (ScriptedServer, Result<CaptiveState, CaptivePortalFailure>) throws -> Void
    ) async throws {
        let key = TestServerKey.loopback
        try await key.withCertificateFile { file in
            try await ScriptedServer.serving(answer, tls: try key.serverContext()) { server in
                let api = CaptivePortalAPI(client: WebClient(trusting: .file(file)))
                let url = "https://127.0.0.1:\(server.port)/api"
                let look = await api.look(url, through: .loopback, within: .seconds(60))
                #expect(look.cost > OnlineValidator.connectionCost, "the question and the answer as well")
                try check(server, look.result)
            }
        }
    }
}
