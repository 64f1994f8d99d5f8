import Randomness
import Testing

@testable import Connectivity

struct ConversationTests {
    @Test func asksForTheHead() {
        let hello = HTTPConversation(host: "2001:db8::1", port: 8080, isProven: false).hello
        #expect(
            String(decoding: hello, as: UTF8.self)
                == "HEAD / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\nUser-Agent: altnet\r\nAccept: */*\r\n\r\n")
    }

    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 500 \r\nA: b\r\n\r\n", "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 404 Not Found\n\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 405 Not Allowed\r\nAllow: GET\r\n\r\n",
    ])
    func anyAnswerOfHTTPWillDo(text: String) throws {
        var conversation = HTTPConversation(host: "h", port: 80, isProven: false)
        let bytes = Array(text.utf8)
        // In whatever pieces it comes, it is complete with its last byte.
        for byte in bytes.dropLast() { #expect(try !conversation.hear([byte])) }
        #expect(try conversation.hear(bytes.suffix(1)))
        #expect(try conversation.hear(bytes), "and again")
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1-200 OK\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 1400) + "\r\n",
    ])
    func whatIsNoHTTPIsRefused(text: String) {
        var conversation = HTTPConversation(host: "h", port: 80, isProven: false)
        #expect(throws: UnexpectedAnswer()) { try conversation.hear(Array(text.utf8)) }
    }

    /// Whoever stands in between says these in the server's place; who has proved by TLS to be the server may say them too.
    @Test(arguments: ["300 Choices", "302 Found", "307 Temporary Redirect", "399 x", "511 Authentication Required"])
    func whatPortalsSayIsNoAnswerButOfTheServerItself(status: String) throws {
        let answer = Array("HTTP/1.1 \(status)\r\nLocation: http://portal.example/\r\n\r\n".utf8)
        var anybody = HTTPConversation(host: "h", port: 80, isProven: false)
        #expect(throws: UnexpectedAnswer()) { try anybody.hear(answer) }
        var interim = HTTPConversation(host: "h", port: 80, isProven: false)
        #expect(throws: UnexpectedAnswer()) { try interim.hear(Array("HTTP/1.1 103 Hints\r\n\r\n".utf8) + answer) }
        var server = HTTPConversation(host: "h", port: 443, isProven: true)
        #expect(try server.hear(answer))
    }

    @Test func saysHelloInMQTT() {
        // MQTT 3.1.1, 3.1: fixed header, protocol name, level, clean session, keep alive of 60 s, empty identifier.
        #expect(
            MQTTConversation(pingEvery: .seconds(30)).hello == [
                0x10, 0x0c, 0x00, 0x04, 0x4d, 0x51, 0x54, 0x54, 0x04, 0x02, 0x00, 0x3c, 0x00, 0x00,
            ])
        #expect(MQTTConversation(pingEvery: .seconds(100_000)).hello[10...11] == [0xff, 0xff])
        #expect(MQTTConversation(pingEvery: .seconds(30)).ping == [0xc0, 0x00])
    }

    @Test(arguments: [[0x20, 2, 0, 0], [0x20, 2, 0, 5], [0x20, 3, 0, 0x87, 0], [0x20, 0x82, 0, 0, 0]] as [[UInt8]])
    func anyConnectionAcknowledgementWillDo(packet: [UInt8]) throws {
        var conversation = MQTTConversation(pingEvery: .seconds(30))
        for byte in packet.dropLast() { #expect(try !conversation.hear([byte])) }
        #expect(try conversation.hear(packet.suffix(1)))
        #expect(try conversation.hear([0xd0, 0]))
        #expect(throws: UnexpectedAnswer()) { try conversation.hear(packet) }
    }

    @Test(
        arguments: [
            [0xd0, 0], [0x30, 2, 0, 0], Array("HTTP/1.1".utf8), [0x20, 0x80, 0x80, 0x80, 0x80], [0x20, 0x81, 0x08],
            [0x20, 0xff, 0xff, 0xff, 0x7f],
        ] as [[UInt8]])
    func whatIsNoMQTTIsRefused(packet: [UInt8]) {
        var conversation = MQTTConversation(pingEvery: .seconds(30))
        #expect(throws: UnexpectedAnswer()) { try conversation.hear(packet) }
    }

    /// Nothing that a server says is more than an answer, no answer, or a wrong one.
    @Test func nothingThatIsSaidDoesHarm() {
        var random = SeededRandom(seed: 6)
        for _ in 0..<20_000 {
            var http = HTTPConversation(host: "h", port: 80, isProven: false)
            var mqtt = MQTTConversation(pingEvery: .seconds(30))
            let start = Array("HTTP/1.1 2".utf8).prefix(Int.random(in: 0...10, using: &random))
            let noise = (0..<Int.random(in: 0...64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try? http.hear(start + noise)
            _ = try? mqtt.hear([0x20] + noise)
        }
    }
}
