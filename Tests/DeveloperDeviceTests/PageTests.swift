import AgentModel
import AppClient
import AppProtocol
import Foundation
import Glibc
import PipedPrograms
import Randomness
import Simulation
import Testing

@testable import DeveloperDevice

/// The device's page with a device behind it: the agent's core, its key file and its server.
@Suite(.serialized) struct PageTests {
    private static let garden = "network=47617264656e.wpa2-psk&password="
    private static let home = "network=486f6d65.wpa2-psk&password="

    /// One in ten persons types a wrong password first, and is told so.
    @Test func aHundredAttemptsOfAHundredEndWithTheirResult() async throws {
        try await withPage(isNew: true) { browser, running in
            try await running.device.change("router signal -60")
            var (times, shown): ([Duration], Int) = ([], 0)
            for attempt in 0..<100 {
                let (fields, password) =
                    attempt.isMultiple(of: 2) ? (Self.garden, "watering-can") : (Self.home, "front-door-mat")
                if attempt.isMultiple(of: 10) {
                    let page = try await browser.join(fields + "wrong-password")
                    #expect(page.contains("password was not"))
                }
                let begin = ContinuousClock.now
                let page = try await browser.join(fields + password)
                times.append(ContinuousClock.now - begin)
                if page.contains("It worked: "), page.contains("10.0.") { shown += 1 }
            }
            #expect(shown == 100)
            times.sort()
            print("page: 100 attempts, from submit to result: median \(times[50]), longest \(times[99])")
        }
    }

    @Test func aNewDeviceBelongsInTheFirstNetworkThatAPersonGivesIt() async throws {
        try await withPage(isNew: true) { browser, running in
            let client = try await DeviceClient(connectingTo: .unixSocket(path: running.places.socket))
            #expect(try await client.backups().home == nil)
            let failed = try await browser.join(Self.garden + "wrong-password")
            #expect(failed.contains(#"value="47617264656e.wpa2-psk" required checked"#))
            #expect(!failed.contains("wrong-password"))
            #expect(try await client.backups().home == nil)
            #expect(try await browser.get("/generate_204", host: "connectivitycheck.gstatic.com").contains("302 Found"))
            _ = try await browser.join(Self.garden + "watering-can")
            #expect(try await client.backups().home?.ssid.text == "Garden")
            #expect(try await browser.get("/generate_204", host: "connectivitycheck.gstatic.com").contains("302 Found"))
            _ = try await browser.post("/done", "")
            #expect(try await browser.get("/generate_204", host: "connectivitycheck.gstatic.com").contains("204 No"))
            let commands = try await client.history().decisions.filter { $0.kind.rawValue == "command" }
            #expect(commands.last?.text.contains("device page") == true)
            await client.close()
        }
    }

    @Test func thePageDoesNotAnswerUntilThePhoneIsBack() async throws {
        try await withPage(isNew: true, returnTime: .seconds(2)) { browser, _ in
            for password in ["wrong-password", "watering-can"] {
                let begin = ContinuousClock.now
                _ = try await browser.join(Self.garden + password)
                #expect(ContinuousClock.now - begin >= .seconds(2))
                _ = try await browser.get("/")
            }
        }
    }

    @Test func whatIsNeverToHappenDoesNot() async throws {
        try await withPage { browser, running in
            // Ten thousand emoji, and a form without its token.
            let emoji = String(repeating: "%F0%9F%94%91", count: 10_000)
            #expect(try await browser.post("/join", Self.garden + emoji).hasPrefix("HTTP/1.1 413"))
            let forged = try await browser.send("POST", "/join", Self.garden + "watering-can")
            #expect(forged.hasPrefix("HTTP/1.1 403"))
            #expect(try await browser.get("/join?\(Self.garden)watering-can").hasPrefix("HTTP/1.1 303"))
            let status = try await DeviceClient(connectingTo: .unixSocket(path: running.places.socket))
            #expect(try await status.history().decisions.allSatisfy { $0.kind.rawValue != "command" })
            await status.close()
        }
    }

    // MARK: In the network

    @Test func aWrongKeyOnThePageIsOneAtTheDoor() async throws {
        try await withPage { _, running in
            let form = try await secure("GET / HTTP/1.1\r\nHost: device\r\n\r\n", running)
            #expect(form.hasPrefix("HTTP/1.1 200") && form.contains("action=\"/sign-in\""))
            for _ in 0..<2 {
                let answer = try await secure(signIn("key=0123456789abcdef", after: form), running)
                #expect(answer.hasPrefix("HTTP/1.1 403") && answer.contains("key is wrong"))
            }
            // The next handshake waits, as after any wrong key: 0.25 seconds, and twice as long after the second.
            let begin = ContinuousClock.now
            let key = Self.encoded(running.pairingCode.uri())
            let answer = try await secure(signIn("key=\(key)", after: form), running)
            #expect(ContinuousClock.now - begin >= .milliseconds(500))
            #expect(answer.hasPrefix("HTTP/1.1 303") && answer.contains("Location: /status"))
            let cookie = try #require(answer.firstMatch(of: /Set-Cookie: (__Host-session=[0-9a-f]{64}); Path/)?.1)
            let page = try await secure("GET /status HTTP/1.1\r\nHost: device\r\nCookie: \(cookie)\r\n\r\n", running)
            #expect(page.contains("<h1>Status</h1>") && page.contains("Garden"))
            let other = try await secure("GET /status HTTP/1.1\r\nHost: device\r\n\r\n", running)
            #expect(!other.contains("Garden"))
        }
    }

    @Test func anAppStillHasItsWebSocketThere() async throws {
        try await withPage { _, running in
            let upgrade =
                "GET /altnet HTTP/1.1\r\nHost: device\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            // The greeting is the first message; then a message that is none ends it.
            let answer = try await secure(upgrade + "\u{7}\u{7}", running)
            #expect(answer.hasPrefix("HTTP/1.1 101") && answer.contains(#""nonce""#))
        }
    }

    /// The table of Docs/integrator/security.md.
    @Test func eachMayDoOnThePageWhatTheTableSays() async throws {
        let table = try AccessTable(of: "request", "setup access point")
        try await withPage { browser, running in
            let unix = try await DeviceClient(connectingTo: .unixSocket(path: running.places.socket))
            // It names no network: a refusal for want of permission comes before.
            let none = NetworkHash(localKey: Secret([1]), ssid: try SSID("none"), password: nil)
            let hello = "GET / HTTP/1.1\r\nHost: device\r\n"
            let form = try await secure(hello + "\r\n", running)
            for (index, column) in table.columns.enumerated() {
                var cookie = ""
                if column.hasPrefix("key"), let role = Role(rawValue: column.dropFirst(5).dropLast().description) {
                    let name = try #require(KeyName("a person who may \(role)"))
                    let code = try await unix.addKey(KeyRequest(name: name, role: role)).code
                    let answer = try await secure(signIn("key=\(Self.encoded(code.uri()))", after: form), running)
                    let session = try #require(answer.firstMatch(of: /Set-Cookie: (__Host-session=[0-9a-f]{64})/)?.1)
                    cookie = "Cookie: \(session)\r\n"
                }
                for row in table.rows {
                    let words = row.name.trimmingCharacters(in: ["`"]).split(separator: " ").map(String.init)
                    let fields =
                        switch words[1] {
                        case "/join": Self.garden + "watering-can"
                        case "/name": "deviceName=Lamp"
                        default: "ssid=486f6d65&hash=" + Self.encoded(none.base64)
                        }
                    let answer: String
                    switch (words[0], column) {
                    case ("GET", "setup access point"): answer = try await browser.get(words[1])
                    case (_, "setup access point"): answer = try await browser.post(words[1], fields)
                    case ("GET", _):
                        answer = try await secure("GET \(words[1]) HTTP/1.1\r\nHost: device\r\n\(cookie)\r\n", running)
                    default:
                        let page = try await secure("GET / HTTP/1.1\r\nHost: device\r\n\(cookie)\r\n", running)
                        answer = try await secure(
                            post(words[1], fields, after: page, cookie), running)
                    }
                    let isRefused =
                        ["403", "404"].contains { answer.hasPrefix("HTTP/1.1 \($0)") }
                        || answer.contains(#"action="/sign-in""#)
                    #expect((isRefused ? "no" : "yes") == row.cells[index], "\(row.name) by \(column)")
                }
            }
            await unix.close()
        }
    }

    private func post(_ path: String, _ fields: String, after form: String, _ cookie: String = "") throws -> String {
        let token = try #require(form.firstMatch(of: /name="token" value="([0-9a-f]+)"/)?.1)
        let body = "token=\(token)&\(fields)"
        return "POST \(path) HTTP/1.1\r\nHost: device\r\nOrigin: https://device\r\n\(cookie)"
            + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func signIn(_ fields: String, after form: String) throws -> String {
        try post("/sign-in", fields, after: form)
    }

    private static func encoded(_ text: String) -> String { text.utf8.map { "%" + Hex.string([$0]) }.joined() }

    /// What comes back on a connection of TLS with HTTP/1.1, until its end.
    private func secure(_ request: String, _ running: RunningDevice) async throws -> String {
        let arguments = ["s_client", "-quiet", "-alpn", "http/1.1", "-connect", "127.0.0.1:\(running.port)"]
        let (_, output) = try await offLoop {
            try PipedProgram.run("openssl", arguments, input: Data(request.utf8))
        }
        return String(decoding: output, as: UTF8.self)
    }

    // MARK: With a real browser

    private static let phone = "Tests/Servers/phone"
    static let hasChromium = ["/usr/bin/chromedriver", "/usr/bin/chromium", "/usr/bin/python3"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private struct Visit: Decodable {
        let heading: String
        let problems: [String]
        let wrong: Double?
        let right: Double?
        let reason: String?
    }

    private func visit(_ arguments: [String]) async throws -> Visit {
        let (status, output) = try await offLoop { try PipedProgram.run(Self.phone, arguments) }
        #expect(status == 0)
        return try JSONDecoder().decode(Visit.self, from: output)
    }

    @Test(
        .enabled(if: PageTests.hasChromium, "needs chromium, chromedriver and python3"),
        arguments: [
            (["--language", "de", "--width", "320"], "Geschafft"),
            (["--language", "en", "--no-script"], "It worked"),
        ]
            + (Rounds.areAll
                ? [
                    (["--language", "en"], "It worked"), (["--language", "de"], "Geschafft"),
                    (["--language", "en", "--dark"], "It worked"),
                ] : []))
    func aPersonWithAPhoneGivesAWrongPasswordFirst(options: [String], heading: String) async throws {
        try await withPage(isNew: true, speed: 1) { browser, running in
            let visit = try await visit(
                ["http://127.0.0.1:\(browser.port)/", "--network", "47617264656e.wpa2-psk"]
                    + ["--wrong", "wrong-password", "--right", "watering-can"] + options + Self.pictures(options))
            #expect(visit.heading.hasPrefix(heading) && visit.heading.contains("Garden"))
            #expect(visit.problems == [])
            print("page: Chromium \(options): refusal after \(visit.wrong ?? 0) s, success after \(visit.right ?? 0) s")
        }
    }

    @Test(.enabled(if: PageTests.hasChromium, "needs chromium, chromedriver and python3"))
    func theOwnerLooksAtThePageInTheNetwork() async throws {
        try await withPage { browser, running in
            let code = running.pairingCode.uri()
            let visit = try await visit(
                ["https://127.0.0.1:\(running.port)/", "--insecure", "--key", code, "--language", "de"]
                    + Self.pictures(["lan"]))
            #expect(visit.heading == "Diagnose" && visit.problems == [])
        }
    }

    /// Where pictures are wanted (`ALTNET_PICTURES=FOLDER`), they are kept.
    private static func pictures(_ names: [String]) -> [String] {
        guard let folder = getenv("ALTNET_PICTURES").map({ String(cString: $0) }) else { return [] }
        let name = names.map { $0.filter(\.isLetter) + $0.filter(\.isNumber) }.joined(separator: "-")
        return ["--shots", "\(folder)/\(name)"]
    }
}

/// A browser as a program drives it: one connection for each request, and the token of the form that was shown last.
final class PageBrowser: Sendable {
    let port: Int

    init(port: Int) { self.port = port }

    /// Sends the form of the first page, and asks for the result until there is one.
    /// - Returns: the page with the result.
    func join(_ fields: String) async throws -> String {
        var page = try await post("/join", fields)
        let end = ContinuousClock.now + .seconds(600)
        while page.contains(#"id="phase""#) {
            guard ContinuousClock.now < end else { throw POSIXError(.ETIMEDOUT) }
            // As the page's script does, and more often.
            try await Task.sleep(for: .milliseconds(100))
            page = try await get("/result")
        }
        return page
    }

    func post(_ path: String, _ fields: String) async throws -> String {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let page = try await get("/networks")
            if let token = page.firstMatch(of: /name="token" value="([0-9a-f]+)"/)?.1 {
                return try await send("POST", path, "token=\(token)&\(fields)")
            }
            // There is no form during the first scan.
            try #require(ContinuousClock.now < end, "\(page.prefix(80))")
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    func get(_ path: String, host: String? = nil) async throws -> String { try await send("GET", path, host: host) }

    func send(_ method: String, _ path: String, _ body: String = "", host: String? = nil) async throws -> String {
        let own = "127.0.0.1:\(port)"
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? own)\r\n"
        if method == "POST" {
            head += "Origin: http://\(own)\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            head += "Content-Length: \(body.utf8.count)\r\n"
        }
        let (text, port) = (head + "\r\n" + body, port)
        var answer = try await offLoop { try Self.exchange(text, port) }
        // A browser asks more slowly than these tests, which meet the limit of requests.
        while answer.hasPrefix("HTTP/1.1 429") {
            try await Task.sleep(for: .milliseconds(100))
            answer = try await offLoop { try Self.exchange(text, port) }
        }
        return answer
    }

    private static func exchange(_ text: String, _ port: Int) throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in.loopback(port: port)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard isConnected == 0 else { throw POSIXError(.ECONNREFUSED) }
        _ = Array(text.utf8).withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 8192))
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { answer += buffer.prefix(count) }
        return String(decoding: answer, as: UTF8.self)
    }
}

extension sockaddr_in {
    fileprivate static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        return address
    }
}

func withPage(
    _ scenario: Scenario? = nil, isNew: Bool = false, speed: Int = 30, returnTime: Duration? = nil,
    _ body: (PageBrowser, RunningDevice) async throws -> Void
) async throws {
    try await withFolder { folder in
        var settings = DeveloperDevice.Settings(
            try scenario ?? ScenarioLibrary.scenario(named: "house-with-repeater"))
        (settings.speed, settings.isNew) = (speed, isNew)
        var places = RunningDevice.Places(sockets: folder)
        (places.state, places.port, places.isAnnounced, places.page) = (folder + "/state", 0, false, try freePort())
        places.returnTime = returnTime
        let running = try await RunningDevice(settings, at: places)
        await running.begin()
        do {
            try await body(PageBrowser(port: places.page ?? 0), running)
            await running.stop()
        } catch {
            await running.stop()
            throw error
        }
    }
}
