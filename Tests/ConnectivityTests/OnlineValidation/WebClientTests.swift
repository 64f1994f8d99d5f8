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
                // Nobody whom the system trusts vouches for it.
                let result = try await server.exchange(scheme: "https")
                #expect(result == .failure(.tlsFailed))
            }
        }
        // Its certificate is trusted, and is for somebody else.
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
