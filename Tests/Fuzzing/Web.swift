import AgentCore
import AgentModel
import NIOCore
import NIOEmbedded

@testable import Connectivity

extension FuzzTarget {
    /// However the bytes arrive, the outcome is the same.
    static let webAnswer = FuzzTarget(
        "web-answer", "what a web server answers, until it ends the connection", longest: 1024,
        seeds: {
            bytes([
                "HTTP/1.1 204 No Content\r\n\r\n",
                "HTTP/1.1 302 Found\r\nLocation: http://a.example/b?c#d\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                "HTTP/1.0 200 OK\r\nContent-Type: application/captive+json\r\n\r\n{}",
            ])
        }
    ) { bytes in
        for body in [WebLimits.Body.whole(upTo: 64), .first(16)] {
            let whole = outcome(of: [bytes[...]], body: body)
            let pieces = outcome(of: pieces(of: bytes), body: body)
            precondition(isSame(whole, pieces), "the answer depends on how it arrives")
            if case .success(let answer) = whole { check(answer, body: body) }
        }
    }
}

private func outcome(of pieces: [ArraySlice<UInt8>], body: WebLimits.Body) -> Result<WebAnswer, WebFailure> {
    guard let address = try? WebAddress("http://portal.example/a/b?c") else { preconditionFailure("no address") }
    var limits = WebLimits(time: .seconds(1), body: body)
    (limits.headerBytes, limits.headerFields) = (256, 8)
    var exchange: WebExchange?
    let channel = EmbeddedChannel()
    do {
        try channel.pipeline.syncOperations.addWebHandlers(for: address, limits: limits) { exchange = exchange ?? $0 }
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
    } catch {
        preconditionFailure("no connection")
    }
    channel.pipeline.syncOperations.write(WebRequest(.get, address))
    for piece in pieces where channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: piece)) }
    channel.pipeline.fireChannelInactive()
    _ = try? channel.finish(acceptAlreadyClosed: true)
    guard let exchange else { preconditionFailure("it never ends") }
    return exchange.result
}

/// With several faults, the first one seen depends on how much has arrived.
private func isSame(_ left: Result<WebAnswer, WebFailure>, _ right: Result<WebAnswer, WebFailure>) -> Bool {
    switch (left, right) {
    case (.success(let left), .success(let right)): left == right
    case (.failure, .failure): true
    default: false
    }
}

/// An accepted answer keeps to the limits, and can be asked anything.
private func check(_ answer: WebAnswer, body: WebLimits.Body) {
    precondition((200...999).contains(answer.status) && answer.body.count <= body.count)
    if case .whole = body { precondition(answer.isWhole) }
    if let location = answer.location {
        guard let again = try? WebAddress(location.description) else { preconditionFailure("no address any more") }
        precondition(again == location, "an address reads otherwise once it is written")
    }
    _ = answer.contentType
    for expected in [ValidationSource.Expectation.status(204), .body("ok")] {
        if case .captive(let portal?) = ValidationFinding(answer, expected: expected) {
            precondition(portal.utf8.allSatisfy { (0x21...0x7e).contains($0) })
        }
    }
}

extension FuzzTarget {
    /// Nothing that it says has a network asked all the time, or never.
    static let captive = FuzzTarget(
        "captive", "what a network says of itself (RFC 8908)", longest: 1024,
        seeds: {
            bytes([
                """
                {"captive":true,"user-portal-url":"https://a.example/","venue-info-url":"https://b.example/",\
                "can-extend-session":true,"seconds-remaining":60,"bytes-remaining":1000}
                """,
                #"{"captive":false}"#,
            ])
        }
    ) { bytes in
        let json = bytes
        do throws(CaptivePortalFailure) {
            let state = try CaptiveState(json: json)
            precondition([state.secondsRemaining, state.bytesRemaining].allSatisfy { $0 ?? 0 >= 0 })
            precondition(state.userPortal?.hasPrefix("https://") ?? true)
            check(state)
        } catch {
            // The error does not repeat the network's text, for it ends up in logs.
            precondition(error.description.utf8.count < 120)
        }
    }
}

/// For any answer, it is asked again in time and not all the time, and a verdict comes of it.
private func check(_ state: CaptiveState) {
    for now in [0, 1 << 40] {
        let asked = Instant(milliseconds: Int64(now))
        let schedule = CaptiveSchedule(after: state, asked: asked)
        precondition(schedule.next >= asked + CaptiveSchedule.shortestInterval)
        precondition(schedule.next <= asked + CaptiveSchedule.longestInterval)
        precondition(schedule.end.map { $0 >= asked } ?? true)
    }
    let verdict = OnlineVerdict(finding: .online, state: state)
    precondition(verdict.internet == .yes && verdict.portal == state.userPortal)
}
