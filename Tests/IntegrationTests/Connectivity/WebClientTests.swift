import Testing

@testable import Connectivity

@Suite struct WebClientTests {
    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\nhello",
            "HTTP/1.0 200 OK\r\n\r\nhello",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello",
        ])
    func bodiesOfEveryKind(_ answer: String) async throws {
        try await ScriptedServer.serving(answer) { server in
            let answer = try await server.exchange().get()
            #expect(answer.status == 200)
            #expect(answer.body == Array("hello".utf8))
            #expect(answer.isWhole)
        }
    }

    @Test func aBodyOfJustTheLimitIsTaken() async throws {
        let body = String(repeating: "x", count: 4096)
        try await ScriptedServer.serving("HTTP/1.1 200 OK\r\n\r\n" + body) { server in
            let answer = try await server.exchange().get()
            #expect(answer.body.count == 4096)
        }
        try await ScriptedServer.serving("HTTP/1.1 200 OK\r\n\r\n" + body + "x") { server in
            let result = try await server.exchange()
            #expect(result == .failure(.tooLarge(.body)))
        }
    }

    /// Also where it never ends, is compressed, or says that it is far longer.
    @Test(arguments: ["", "Content-Encoding: gzip\r\n", "Content-Length: 1000000000\r\n"])
    func aFirstPartIsEnough(_ header: String) async throws {
        try await ScriptedServer.serving("HTTP/1.1 200 OK\r\n\(header)\r\n", then: .endlessly("abcdef")) { server in
            let answer = try await server.exchange(limits: .within(body: .first(10))).get()
            #expect(answer.body == Array("abcdefabcd".utf8))
            #expect(!answer.isWhole)
        }
    }

    @Test func noRedirectionIsFollowed() async throws {
        let answer = "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"
        try await ScriptedServer.serving(answer) { server in
            let answer = try await server.exchange("/there/now?x=1").get()
            #expect(answer.status == 302)
            #expect(answer.location == (try server.address("/again")))
            #expect(server.connections == 1)
        }
    }

    @Test(arguments: ["javascript:alert(1)", "http://user@host/", "http://a b/", "ftp://host/", "http://host:99999/"])
    func aLocationThatLeadsNowhereIsNone(_ location: String) async throws {
        try await ScriptedServer.serving("HTTP/1.1 302 Found\r\nLocation: \(location)\r\n\r\n") { server in
            let answer = try await server.exchange().get()
            #expect(answer.location == nil)
        }
    }

    @Test func whatIsAsked() async throws {
        try await ScriptedServer.serving("HTTP/1.1 204 No Content\r\n\r\n") { server in
            let request = WebRequest(.get, try server.address("/a?b=c#d"), accept: "text/html", cookies: "k=v")
            _ = try await WebClient().fetch(request, through: .loopback, limits: .within())
            let lines = server.received.split(separator: "\r\n")
            #expect(lines.first == "GET /a?b=c HTTP/1.1")
            #expect(
                Set(lines.dropFirst()) == [
                    "Host: 127.0.0.1:\(server.port)", "User-Agent: altnet", "Accept: text/html",
                    "Accept-Encoding: identity", "Connection: close", "Cookie: k=v",
                ])
        }
    }

    @Test func whatAFormSends() async throws {
        let fields = [(name: "a b", value: "1&2=3"), (name: "ü", value: "*-._\r\n"), (name: "", value: "")]
        let encoded = "a+b=1%262%3D3&%C3%BC=*-._%0D%0A&="
        let answer = "HTTP/1.1 204 No Content\r\n\r\n"
        try await ScriptedServer.serving(answer, awaiting: encoded) { server in
            let request = WebRequest(.form(fields), try server.address("/login"))
            _ = try await WebClient().fetch(request, through: .loopback, limits: .within())
            #expect(server.received.hasPrefix("POST /login HTTP/1.1\r\n"))
            #expect(server.received.contains("Content-Type: application/x-www-form-urlencoded\r\n"))
            #expect(server.received.contains("Content-Length: \(encoded.utf8.count)\r\n"))
            #expect(server.received.hasSuffix("\r\n\r\n" + encoded))
        }
    }

    @Test(arguments: ["a=b\r\nX-Evil: 1", "a=b\nX-Evil: 1", "a=\u{0}"])
    func aCookieCannotBecomeAnotherField(_ cookies: String) async throws {
        try await ScriptedServer.serving("HTTP/1.1 204 No Content\r\n\r\n") { server in
            let request = WebRequest(.get, try server.address(), cookies: cookies)
            await #expect(throws: WebFailure.notHTTP) {
                try await WebClient().fetch(request, through: .loopback, limits: .within())
            }
            #expect(server.received == "")
        }
    }

    @Test func aServerShowsWhoItIs() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        try await TestServerKey.loopback.withCertificateFile { file in
            try await ScriptedServer.serving(answer, tls: try TestServerKey.loopback.serverContext()) { server in
                let answer = try await server.exchange(scheme: "https", trusting: .file(file)).get()
                #expect(answer.body == Array("ok".utf8))
                // No authority of the system has signed it.
                let result = try await server.exchange(scheme: "https")
                #expect(result == .failure(.tlsFailed))
            }
        }
        // Its certificate is trusted, and is for another name.
        try await TestServerKey.elsewhere.withCertificateFile { file in
            try await ScriptedServer.serving(answer, tls: try TestServerKey.elsewhere.serverContext()) { server in
                let result = try await server.exchange(scheme: "https", trusting: .file(file))
                #expect(result == .failure(.tlsFailed))
            }
        }
    }

    /// Keys and certificates cost, too.
    @Test func whatTLSCostsIsCounted() async throws {
        let answer = "HTTP/1.1 204 No Content\r\n\r\n"
        let request = { (server: ScriptedServer, scheme: String) in
            WebRequest(.get, try server.address(scheme: scheme))
        }
        var plain = 0
        try await ScriptedServer.serving(answer) { server in
            let exchange = await WebClient().exchange(
                try request(server, "http"), through: .loopback, limits: .within())
            #expect(exchange.bytes == server.received.utf8.count + answer.utf8.count)
            plain = exchange.bytes
        }
        try await TestServerKey.loopback.withCertificateFile { file in
            try await ScriptedServer.serving(answer, tls: try TestServerKey.loopback.serverContext()) { server in
                let exchange = await WebClient(trusting: .file(file)).exchange(
                    try request(server, "https"), through: .loopback, limits: .within())
                #expect(try exchange.result.get().status == 204)
                #expect(exchange.bytes > plain + 800, "at least a hello of both, a certificate and its proof")
            }
        }
    }

    @Test func certificatesThatCannotBeRead() async throws {
        try await ScriptedServer.serving("") { server in
            let result = try await server.exchange(scheme: "https", trusting: .file("/nonexistent"))
            #expect(result == .failure(.noAuthorities))
            #expect(server.connections == 0)
        }
    }

    @Test func contentTypes() {
        func type(_ value: String) -> String {
            let fields = [WebAnswer.Field(name: "content-TYPE", value: value)]
            return WebAnswer(address: .example, status: 200, fields: fields, body: [], isWhole: true).contentType
        }
        #expect(type("Application/Captive+JSON; charset=utf-8") == "application/captive+json")
        #expect(type(" text/html ;q") == "text/html")
        #expect(type("") == "")
    }
}

extension WebAddress {
    // swift-format-ignore: NeverUseForceTry
    static let example = try! WebAddress("http://portal.example/a/b/c?d")
}

@Suite struct HostileServerTests {
    @Test(
        arguments: [
            ("SSH-2.0-OpenSSH_9.2\r\n", WebFailure.notHTTP),
            ("HTTP/9.9 200 OK\r\n\r\n", .notHTTP),
            ("HTTP/1.1 20 OK\r\n\r\n", .notHTTP),
            ("HTTP/1.1 2000 OK\r\n\r\n", .notHTTP),
            ("HTTP/1.1 099 Early\r\n\r\n", .notHTTP),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: upgrade\r\n\r\n", .notHTTP),
            ("\u{0}\u{1}\u{2}\u{3}", .notHTTP),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .notHTTP),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", .notHTTP),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", .notHTTP),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .notHTTP),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", .notHTTP),
            ("", .closedEarly),
            ("HTTP/1.1 200 OK\r\nContent-Le", .closedEarly),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .closedEarly),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", .closedEarly),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n", .tooLarge(.body)),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n", .encoded),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .encoded),
        ])
    func isRefused(_ answer: String, _ failure: WebFailure) async throws {
        try await ScriptedServer.serving(answer) { server in
            let result = try await server.exchange()
            #expect(result == .failure(failure))
        }
    }

    @Test(
        arguments: [
            // An endless body, by its length, in chunks, and until the end of the connection.
            ("HTTP/1.1 200 OK\r\n\r\n", "endless ", WebFailure.tooLarge(.body)),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "400\r\n\(String(repeating: "x", count: 1024))\r\n",
                .tooLarge(.body)
            ),
            // Chunks of which nearly all is what comes around them.
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "1;name=\(String(repeating: "x", count: 999))\r\nx\r\n",
                .tooLarge(.body)
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "Trailer: value\r\n", .tooLarge(.header)),
            ("HTTP/1.1 200 OK\r\n", "Name: value\r\n", .tooLarge(.header)),
            ("HTTP/1.1 200 OK\r\nName: ", "endless ", .tooLarge(.header)),
            ("HTTP/1.1 200 OK\r\n", "endless", .tooLarge(.header)),
            ("HTTP/1.1 200 ", "OK ", .tooLarge(.header)),
            ("", "HTTP/1.1 100 Continue\r\n\r\n", .tooLarge(.interimAnswers)),
            ("", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n", .tooLarge(.interimAnswers)),
            ("", "\r\n", .tooLarge(.header)),
        ])
    func isEndless(_ beginning: String, _ more: String, _ failure: WebFailure) async throws {
        try await ScriptedServer.serving(beginning, then: .endlessly(more)) { server in
            let request = WebRequest(.get, try server.address())
            let exchange = await WebClient().exchange(request, through: .loopback, limits: .within())
            #expect(throws: failure) { try exchange.result.get() }
            // All bytes read, of which those held are a part.
            #expect(exchange.bytes <= WebLimits.within().receivedBytes + WebLimits.readSize + 256)
        }
    }

    @Test(
        arguments: [
            ("", ScriptedServer.End.silence),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", .silence),
            ("", .drip("HTTP/1.1 100 Continue\r\n\r\n")),
            ("HTTP/1.1 200 OK\r\n", .drip("Name: value\r\n")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", .drip("slow")),
        ])
    func isSlow(_ answer: String, _ end: ScriptedServer.End) async throws {
        try await ScriptedServer.serving(answer, then: end) { server in
            let result = try await server.exchange(limits: .within(.seconds(1)))
            #expect(throws: WebFailure.timedOut) { try result.get() }
        }
    }

    @Test func speaksTLSWherePlainTextIsExpected() async throws {
        try await ScriptedServer.serving("", tls: try TestServerKey.loopback.serverContext()) { server in
            let result = try await server.exchange()
            #expect([.failure(.notHTTP), .failure(.closedEarly)].contains(result))
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "", "\u{16}\u{3}\u{1}"])
    func speaksPlainTextWhereTLSIsExpected(_ answer: String) async throws {
        try await ScriptedServer.serving(answer, awaiting: "") { server in
            let result = try await server.exchange(scheme: "https")
            #expect(result == .failure(.tlsFailed))
        }
    }

    @Test func saysNothingInTheHandshake() async throws {
        try await ScriptedServer.serving("", then: .silence) { server in
            let result = try await server.exchange(scheme: "https", limits: .within(.seconds(1)))
            #expect(throws: WebFailure.timedOut) { try result.get() }
        }
    }

    @Test func aPortWithoutAProgramRefuses() async throws {
        let port = try await ScriptedServer.serving("") { $0.port }
        let request = WebRequest(.get, try WebAddress("http://127.0.0.1:\(port)/"))
        await #expect(throws: WebFailure.notReached(.connectionRefused)) {
            try await WebClient().fetch(request, through: .loopback, limits: .within())
        }
    }

    @Test func aCancelledRequestEnds() async throws {
        try await ScriptedServer.serving("", then: .silence) { server in
            let asking = Task { try await server.exchange() }
            // From here on it waits for the answer.
            try await server.isAsked()
            asking.cancel()
            let result = try await asking.value
            #expect(result == .failure(.cancelled))
        }
    }
}
