import AgentModel
import NIOPosix
import TestTime
import Testing

@testable import AppServer

/// Browsers, and what is none, at the page's listener.
@Suite struct WebListenerTests {
    @Test func aRequestIsAnsweredAndTheConnectionEnds() async throws {
        try await withListener { port, pages in
            let answer = try await exchange("GET /a?b=c HTTP/1.1\r\nHost: Device\r\nCookie: x=1\r\n\r\n", port)
            #expect(answer.first == "HTTP/1.1 200 OK\r" && answer.last == "/a")
            #expect(answer.contains("Connection: close\r") && answer.contains("Content-Length: 2\r"))
            let request = try #require(pages.seen.value.first)
            #expect(request.method == .get && request.path == "/a" && request.query == "b=c")
            #expect(request.host == "device" && request.cookie == "x=1" && request.origin == nil)
        }
    }

    @Test func whatIsPostedArrivesWholeHoweverItIsCut() async throws {
        try await withListener { port, pages in
            let body = "a=" + String(repeating: "x", count: 2000)
            let socket = try RawSocket.connecting(toPort: port)
            let text = "POST /join HTTP/1.1\r\nHost: d\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
            for piece in stride(from: 0, to: text.utf8.count, by: 97) {
                try await socket.send(Array(text.utf8.dropFirst(piece).prefix(97)))
            }
            #expect(try await socket.lines().last == "/join")
            #expect(pages.seen.value.first?.body == Secret(text: body))
        }
    }

    @Test func aHeadHasNoBody() async throws {
        try await withListener { port, _ in
            let answer = try await exchange("HEAD /abc HTTP/1.1\r\nHost: d\r\n\r\n", port)
            #expect(answer.contains("Content-Length: 4\r") && answer.last == "\r")
        }
    }

    /// One request for a connection: what follows it is not done, and does not disturb its answer.
    @Test(arguments: ["GET /b HTTP/1.1\r\nHost: d\r\n\r\n", "nonsense\r\n\r\n", "\u{0}\u{1}", "POST / HTTP/1.1\r\n"])
    func aSecondRequestIsNotDone(rest: String) async throws {
        try await withListener { port, pages in
            let answer = try await exchange("GET /a HTTP/1.1\r\nHost: d\r\n\r\n" + rest, port)
            #expect(answer.last == "/a" && pages.seen.value.count == 1)
        }
    }

    @Test func moreThanIsReadIsRefusedAtOnce() async throws {
        try await withListener { port, pages in
            let announced = "POST /join HTTP/1.1\r\nHost: d\r\nContent-Length: 104857600\r\n\r\n"
            let socket = try RawSocket.connecting(toPort: port)
            try await socket.send(announced)
            #expect(try await socket.lines().last == "/join")
            #expect(pages.seen.value.first?.isTooLarge == true && pages.seen.value.first?.body.count == 0)
        }
    }

    @Test(arguments: [false, true]) func aHundredMegabytesAreRefusedAndCutOff(isChunked: Bool) async throws {
        try await withListener { port, pages in
            let socket = try RawSocket.connecting(toPort: port)
            let length = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 104857600"
            try await socket.send("POST /join HTTP/1.1\r\nHost: d\r\n\(length)\r\n\r\n")
            let piece =
                Array((isChunked ? "10000\r\n" : "").utf8) + Array(repeating: 0x61, count: 65_536)
                + Array((isChunked ? "\r\n" : "").utf8)
            // It is cut off in the middle, once it has had time to read its answer.
            do { for _ in 0..<1600 { try await socket.send(piece) } } catch is RawSocket.Failure {}
            #expect(pages.seen.value.map(\.isTooLarge) == [true])
        }
    }

    @Test(arguments: ["GET /", "GET / HTTP/1.1\r\nX: ", "GET / HTTP/1.1\r\n"])
    func aHeadWithoutEndIsRefused(start: String) async throws {
        try await withListener { port, pages in
            let socket = try RawSocket.connecting(toPort: port)
            let filler = start.hasSuffix("\n") ? "a: b\r\n" : "aaaaaa"
            let answer = Task { try await socket.lines() }
            do { try await socket.send(start + String(repeating: filler, count: 20_000)) } catch is RawSocket.Failure {}
            if let status = try? await answer.value.first {
                #expect(status == "HTTP/1.1 431 Request Header Fields Too Large\r" || status.hasPrefix("HTTP/1.1 400"))
            }
            #expect(pages.seen.value.isEmpty)
        }
    }

    @Test(arguments: [
        "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}",
        "GET / HTTP/1.1\r\nHost : d\r\n\r\n",
    ])
    func whatIsNoRequestIsNotAnsweredWithAPage(text: String) async throws {
        try await withListener { port, pages in
            let socket = try RawSocket.connecting(toPort: port)
            try await socket.send(text)
            socket.finishSending()
            let answer = try await socket.lines()
            #expect(answer.isEmpty || answer[0].hasPrefix("HTTP/1.1 4"), "\(answer)")
            #expect(pages.seen.value.isEmpty)
        }
    }

    @Test func aHundredPhonesAreServedAtOnce() async throws {
        try await withListener { port, pages in
            let answers = try await withThrowingTaskGroup(of: String?.self) { group in
                for phone in 1...100 {
                    group.addTask {
                        let socket = try RawSocket.connecting(toPort: port, from: UInt8(phone))
                        try await socket.send("GET /\(phone) HTTP/1.1\r\nHost: d\r\n\r\n")
                        return try await socket.lines().last
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(answers == Set((1...100).map { "/\($0)" }))
        }
    }

    /// Slow clients take one another's room, and not that of others.
    @Test func slowClientsOnEveryConnectionDoNotShutOthersOut() async throws {
        var limits = BrowserLimits.patient
        (limits.connections, limits.connectionsPerAddress) = (32, 4)
        try await withListener(limits) { port, pages in
            let slow = try (0..<64).map { index in
                try RawSocket.connecting(toPort: port, from: UInt8(2 + index % 8))
            }
            for socket in slow { try? await socket.send("GET / HTTP/1.1\r\nX-Slow:") }
            for _ in 0..<20 {
                #expect(try await exchange("GET /me HTTP/1.1\r\nHost: d\r\n\r\n", port).last == "/me")
            }
            // One of an address that has many of them itself gets in as well.
            let socket = try RawSocket.connecting(toPort: port, from: 2)
            try await socket.send("GET /you HTTP/1.1\r\nHost: d\r\n\r\n")
            #expect(try await socket.lines().last == "/you")
        }
    }

    @Test func aRequestThatTakesTooLongIsCutOff() async throws {
        var limits = BrowserLimits()
        limits.requestTime = .milliseconds(50)
        try await withListener(limits) { port, pages in
            let socket = try RawSocket.connecting(toPort: port)
            try await socket.send("GET / HTTP/1.1\r\nHost: ")
            #expect(try await socket.line() == nil && pages.seen.value.isEmpty)
        }
    }

    @Test func itIsToldWhenAnAnswerHasArrived() async throws {
        try await withListener { port, pages in
            #expect(try await exchange("GET /told HTTP/1.1\r\nHost: d\r\n\r\n", port).last == "/told")
            _ = try await pages.delivered.next("the answer has arrived") { $0 > 0 ? true : nil }
        }
    }

    private func exchange(_ text: String, _ port: Int) async throws -> [String] {
        let socket = try RawSocket.connecting(toPort: port)
        try await socket.send(text)
        return try await socket.lines()
    }
}

/// Answers with the path that was asked for.
private final class EchoPages: WebPages {
    let seen = Observed<[BrowserRequest]>([])
    let delivered = Observed(0)

    func respond(to request: BrowserRequest, from client: Browser) async -> BrowserResponse {
        seen.change { $0.append(request) }
        var response = BrowserResponse(200, body: Array(request.path.utf8))
        response.delivered = { [delivered] in delivered.change { $0 += 1 } }
        return response
    }
}

/// - Parameter limits: without any, a busy machine has all the time that it needs.
private func withListener(
    _ limits: BrowserLimits = .patient, _ body: (Int, EchoPages) async throws -> Void
) async throws {
    let pages = EchoPages()
    let listener = WebListener(pages, limits: limits)
    let address = try #require(IPAddress("127.0.0.1"))
    try await listener.listen(at: address, port: 0, on: MultiThreadedEventLoopGroup.singleton.next())
    do {
        try await body(try #require(listener.port), pages)
    } catch {
        await listener.close()
        throw error
    }
    await listener.close()
    #expect(listener.connections == 0)
}

extension BrowserLimits {
    fileprivate static var patient: BrowserLimits {
        var limits = BrowserLimits()
        limits.requestTime = .seconds(600)
        limits.answerTime = .seconds(600)
        return limits
    }
}
