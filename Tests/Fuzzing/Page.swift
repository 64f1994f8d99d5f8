import AgentModel
import AppProtocol
import DNS
import NIOCore
import NIOEmbedded

@testable import AppServer
@testable import DevicePage

extension FuzzTarget {
    /// What comes on a connection of a browser has one bounded answer at most, however it arrives in pieces, and has the
    /// device do nothing: no one can know the token of a form that was not asked for.
    static let pageRequest = FuzzTarget(
        "page-request", "a connection of a browser on the access point", longest: 4096, seeds: { PageSample.requests }
    ) { bytes in
        let whole = answer(to: [bytes[...]])
        let pieces = answer(to: pieces(of: bytes))
        precondition(whole.commands + pieces.commands == 0, "the device is to do something without a token")
        precondition(whole.requests <= 1 && pieces.requests <= 1, "a second request is answered")
        precondition(whole.head == pieces.head, "the answer depends on how the request was cut")
    }

    /// A form that has its token names a network that can be joined, with a password that one can have, or is refused. What
    /// is shown then is text.
    static let pageForm = FuzzTarget(
        "page-form", "a form, a cookie, a query and the name of a network in range", longest: 2048,
        seeds: { PageSample.forms },
        preparing: {
            var site = PageSample.site
            return { bytes in
                var input = FuzzInput(bytes)
                var parts = input.parts()
                func next() -> [UInt8] { parts.isEmpty ? [] : parts.removeFirst() }
                let (path, form, cookie, query, language) = (next(), next(), next(), next(), next())
                let scan = PageSample.scan(named: next())
                for place in [PageSample.accessPoint, .network] {
                    check(
                        &site, PageSample.request(path, form, cookie, query, language, in: place, &site), place, scan)
                }
            }
        })

    /// Every answer of the access point's name server is one to the question, and a little longer.
    static let accessPointNames = FuzzTarget(
        "access-point-names", "a question to the access point's name server", longest: 600,
        seeds: { PageSample.questions }
    ) { bytes in
        guard let answer = NameAnswers(address: [192, 168, 4, 1]).answer(bytes) else { return }
        precondition(answer.count <= bytes.count + 16, "an answer that is much longer than the question")
        guard let question = try? DNSMessage(reading: bytes), let reply = try? DNSMessage(reading: answer) else {
            preconditionFailure("an answer that cannot be read")
        }
        precondition(reply.isResponse && reply.id == question.id && reply.questions == question.questions)
        precondition(reply.records.count <= 1 && reply.records.allSatisfy { $0.timeToLive == 0 })
    }
}

/// The answer to what comes on a connection, without a socket.
private func answer(to pieces: [ArraySlice<UInt8>]) -> (head: String?, requests: Int, commands: Int) {
    let loop = EmbeddedEventLoop()
    let channel = EmbeddedChannel(loop: loop)
    let box = NIOLoopBoundBox((site: PageSample.site, requests: 0, commands: 0), eventLoop: loop)
    var limits = BrowserLimits()
    (limits.headLength, limits.bodyLength) = (1024, 512)
    let exchange = BrowserExchange(limits: limits, clock: ServerClock(ContinuousClock())) { request, loop in
        let effect = box.value.site.receive(
            request, from: PageSample.phone, in: PageSample.accessPoint, at: Instant(milliseconds: 0))
        box.value.requests += 1
        switch effect {
        case .answer(let response): return loop.makeSucceededFuture(response)
        case .show(let view, let visitor):
            let response = PageWriter(visitor).response(to: view, Facts(), at: Instant(milliseconds: 0))
            return loop.makeSucceededFuture(response)
        case .perform:
            box.value.commands += 1
            return loop.makeSucceededFuture(BrowserResponse(500))
        }
    }
    do {
        try channel.pipeline.syncOperations.addWeb(exchange, limits)
        try channel.connect(to: SocketAddress(ipAddress: "192.168.4.20", port: 1)).wait()
    } catch { preconditionFailure("no connection") }
    for piece in pieces where channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: piece)) }
    var answer = ByteBuffer()
    while var buffer = try? channel.readOutbound(as: ByteBuffer.self) { answer.writeBuffer(&buffer) }
    precondition(answer.readableBytes <= 32_768, "an answer of \(answer.readableBytes) bytes")
    let head = answer.readableBytesView.split(separator: UInt8(ascii: "\r"), maxSplits: 1).first
    let result = (head.map { String(decoding: $0, as: UTF8.self) }, box.value.requests, box.value.commands)
    channel.pipeline.fireChannelInactive()
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return result
}

private func check(_ site: inout Site, _ request: BrowserRequest, _ place: PageContext, _ scan: ScanResults) {
    let now = Instant(milliseconds: 0)
    switch site.receive(request, from: PageSample.phone, in: place, at: now) {
    case .answer(let response):
        precondition(response.headers.allSatisfy { isHeader($0.value) }, "a header of two lines")
    case .perform(let body, _, let visitor):
        precondition(request.method == .post && body.refusal(to: visitor.peer) == nil)
        precondition(place != .network || visitor.isSignedIn, "a command without a key")
        guard case .switchNetwork(let request) = body, case .new(let network) = request.target else { return }
        switch network.credential {
        case .none: precondition(network.security?.isOpenToAll ?? false, "a network with a password is joined without")
        case .password(let password):
            precondition((try? Passphrase.validate(password, for: network.security)) != nil, "no password can be that")
        default: preconditionFailure("a credential that the page does not ask for")
        }
    case .show(let view, let visitor):
        let facts = Facts(scan: scan)
        let response = PageWriter(visitor).response(to: view, facts, at: now)
        guard let text = String(validating: response.body, as: UTF8.self) else { preconditionFailure("not UTF-8") }
        precondition(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x0a }, "a control character")
        // The one of every page. Whatever came from outside has no bracket of its own.
        precondition(
            text.ranges(of: "<script").count == (visitor.isSignedIn ? 2 : 1) && text.ranges(of: "<img").isEmpty,
            "an element from outside")
        precondition(text.ranges(of: "<").count == text.ranges(of: ">").count)
        precondition(response.headers.allSatisfy { isHeader($0.value) }, "a header of two lines")
    }
}

private func isHeader(_ value: String) -> Bool { value.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

private enum PageSample {
    static let phone = Browser(address: address([192, 168, 4, 20]))
    static let accessPoint = PageContext.accessPoint(address: address([192, 168, 4, 1]), port: 80)

    private static func address(_ bytes: [UInt8]) -> IPAddress {
        guard let address = IPAddress(bytes: bytes) else { preconditionFailure("no address") }
        return address
    }

    static var site: Site { Site(deviceId: "bench-01", keys: OwnerKey(Secret(text: "0123456789abcdef"))) }

    static let requests = bytes([
        // More than is read, behind a request that is complete.
        "POST /join HTTP/1.1\r\nHost: 192.168.4.1\r\nContent-Length: 512\r\n\r\n" + String(repeating: "o", count: 1600),
        "GET / HTTP/1.1\r\nHost: 192.168.4.1\r\nAccept-Language: de-DE,de;q=0.9\r\nCookie: lang=en\r\n\r\n",
        "GET /generate_204 HTTP/1.1\r\nHost: connectivitycheck.gstatic.com\r\n\r\n",
        "POST /join HTTP/1.1\r\nHost: 192.168.4.1\r\nOrigin: http://192.168.4.1\r\n"
            + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 13\r\n\r\ntoken=0&ssid=",
        "POST /join HTTP/1.1\r\nHost: 192.168.4.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ntoken\r\n0\r\n\r\n",
        "HEAD /style.css HTTP/1.0\r\nHost: 192.168.4.1:80\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ])

    static let forms: [[UInt8]] = [
        ["/join", "network=486f6d65.wpa2-psk&password=front-door-mat", "lang=de", "lang=en", "de", "Home"],
        ["/join", "network=other&name=K%C3%A4fig&open=1&password=", "", "", "en;q=0.5", "<script>"],
        ["/sign-in", "key=0123456789abcdef", "__Host-session=00", "", "", "\" onload="],
        ["/scan", "", "", "", "", "x"],
        ["/move", "ssid=486f6d65&hash=dUnNrl9ZGLL2XWhS6Eyh%2Bv7ra11zzx%2BZnd0SH3Ww67c=", "", "", "", ""],
    ].map { FuzzInput.joined(bytes($0)) }

    static let questions = ["captive.apple.com", "kitchen.local", "use-application-dns.net"].compactMap { name in
        DNSName(name).map { DNSMessage(asking: [DNSQuestion($0, .ipv4)], id: 1, recursively: true).query }
    }

    static func scan(named bytes: [UInt8]) -> ScanResults {
        guard let ssid = try? SSID(bytes: bytes.prefix(SSID.maximumLength)), let bssid = BSSID("02:00:00:00:00:01")
        else {
            return ScanResults(isScanning: false, lastScanId: nil, networks: [])
        }
        let securities: [Security] = [.wpa2, .open, .enterprise]
        let networks = securities.map { security in
            ScannedNetwork(
                bssid: bssid, ssid: ssid, frequency: Frequency(megahertz: 2412), signal: -50, security: security,
                ageMs: 0)
        }
        return ScanResults(isScanning: false, lastScanId: nil, networks: networks)
    }

    /// A form with the token of a page that was asked for before.
    static func request(
        _ path: [UInt8], _ form: [UInt8], _ cookie: [UInt8], _ query: [UInt8], _ language: [UInt8],
        in place: PageContext,
        _ site: inout Site
    ) -> BrowserRequest {
        let host = place == .network ? "kitchen.local" : "192.168.4.1"
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        var request = BrowserRequest(
            form.isEmpty ? .get : .post, text(path), query: text(query), host: host, acceptLanguage: text(language),
            cookie: text(cookie), contentType: Form.contentType)
        let first = BrowserRequest(.get, "/", host: host, cookie: text(cookie))
        var token = ""
        if case .show(_, let visitor) = site.receive(first, from: phone, in: place, at: Instant(milliseconds: 0)) {
            token = visitor.token
        }
        request.body = Secret(Array("token=\(token)&".utf8) + form)
        return request
    }
}
