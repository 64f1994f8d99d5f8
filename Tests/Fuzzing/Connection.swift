import NIOCore
import NIOEmbedded
import NIOTLS
import Synchronization

@testable import Connectivity

extension FuzzTarget {
    /// However the bytes arrive, the outcome is the same.
    static let conversation = FuzzTarget(
        "conversation", "what a server answers to a greeting in HTTP or MQTT", longest: 512,
        seeds: {
            bytes([
                "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 302 Found\r\nLocation: /\r\n\r\n", "\u{20}\u{2}\u{0}\u{0}",
            ])
        }
    ) { bytes in
        for scheme in ["http", "https"] {
            let outcome = httpOutcome(of: [bytes[...]], from: scheme)
            precondition(outcome == httpOutcome(of: pieces(of: bytes), from: scheme), "it depends on how it arrives")
            if outcome == .answered { checkHTTP(bytes, isProven: scheme == "https") }
        }
        let outcome = mqttOutcome(of: [bytes[...]])
        precondition(outcome == mqttOutcome(of: pieces(of: bytes)), "it depends on how it arrives")
        if outcome == .answered {
            precondition(bytes[0] == 0x20 && bytes.count >= 2, "only a connection acknowledgement is an answer")
        }
    }
}

private enum Outcome {
    case answered, waiting, refused
}

/// The outcome of a connection on which these come, until there is an answer or its end.
private func httpOutcome(of pieces: [ArraySlice<UInt8>], from scheme: String) -> Outcome {
    guard let target = try? Target(setting: "a=\(scheme)://server.example:80") else { preconditionFailure("no target") }
    let outcome = Mutex(Outcome.waiting)
    let channel = EmbeddedChannel()
    do {
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
        try ConnectionHandler.add(
            to: channel.pipeline.syncOperations, target, keepAlive: KeepAlive(), deadline: .distantFuture
        ) { event in
            switch event {
            case .connected: break
            case .opened: outcome.withLock { $0 = .answered }
            case .ended: outcome.withLock { if $0 == .waiting { $0 = .refused } }
            }
        }
    } catch {
        preconditionFailure("no connection")
    }
    if target.isTLS {
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
    }
    for piece in pieces where channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: piece)) }
    let result = outcome.withLock { $0 }
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return result
}

private func mqttOutcome(of pieces: [ArraySlice<UInt8>]) -> Outcome {
    var packets = MQTTPackets(pingEvery: .seconds(30))
    var outcome = Outcome.waiting
    for piece in pieces {
        do {
            if try packets.receive(piece) { outcome = .answered }
        } catch {
            return .refused
        }
    }
    return outcome
}

private func checkHTTP(_ bytes: [UInt8], isProven: Bool) {
    // Empty lines may come first (RFC 9112, 2.2).
    let bytes = Array(bytes.drop { $0 == 0x0d || $0 == 0x0a })
    precondition(bytes.starts(with: "HTTP/1.".utf8))
    guard let status = Int(String(decoding: bytes[9..<12], as: UTF8.self)) else { preconditionFailure("no status") }
    precondition((100...999).contains(status))
    precondition(isProven || !(300...399).contains(status) && status != 511, "a portal's word is no answer")
}

extension FuzzTarget {
    /// The machine's list of name servers, with the words of networks in it.
    static let resolver = FuzzTarget(
        "resolver", "the machine's list of name servers", longest: 1024,
        seeds: { bytes(["search example\nnameserver 192.0.2.1\nnameserver fe80::1%wlan0\n"]) }
    ) { text in
        let notes = NetworkAnnouncements(resolverConfiguration: text)
        precondition(notes.nameServers.count <= NetworkAnnouncements.maximumServers && notes.captivePortalAPI == nil)
        precondition(Set(notes.nameServers).count == notes.nameServers.count)
        // It reads the same once it is written.
        let written = notes.nameServers.map { "nameserver \($0.address)\n" }.joined()
        precondition(NetworkAnnouncements(resolverConfiguration: Array(written.utf8)) == notes)
    }
}
