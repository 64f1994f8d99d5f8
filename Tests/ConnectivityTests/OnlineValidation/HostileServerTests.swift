import NIOPosix
import Testing

@testable import Connectivity

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
            // What was read in all, of which what is held is a part.
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

    @Test func nobodyListens() async throws {
        let port = try await ScriptedServer.serving("") { $0.port }
        let request = WebRequest(.get, try WebAddress("http://127.0.0.1:\(port)/"))
        await #expect(throws: WebFailure.notReached(.connectionRefused)) {
            try await WebClient().fetch(request, through: .loopback, limits: .within())
        }
    }

    @Test func nobodyWaitsAnyMore() async throws {
        try await ScriptedServer.serving("", then: .silence) { server in
            let asking = Task { try await server.exchange() }
            // The question has arrived: it waits for the answer.
            while server.received.isEmpty { await Task.yield() }
            asking.cancel()
            let result = try await asking.value
            #expect(result == .failure(.cancelled))
        }
    }
}
