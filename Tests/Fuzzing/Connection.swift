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
            if try packets.hear(piece) { outcome = .answered }
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
    /// The notes of our hook, of systemd-networkd and of the whole machine, with the words of the network in them.
    static let leaseNotes = FuzzTarget(
        "lease-notes", "what a DHCP client notes of a network", longest: 1024,
        seeds: {
            bytes([
                "NAME_SERVERS=192.0.2.1 [2001:db8::1]:53\nCAPTIVE_PORTAL=https://a.example/\n",
                "OPER_STATE=routable\nDNS=192.0.2.1\nCAPTIVE_PORTAL=https://a.example/\n",
                "search example\nnameserver 192.0.2.1\nnameserver fe80::1%wlan0\n",
            ])
        }
    ) { bytes in
        let text = bytes
        let lease = NetworkNotes(assignments: text, servers: "NAME_SERVERS")
        let link = NetworkNotes(link: text)
        let machine = NetworkNotes(resolverConfiguration: text)
        for notes in [lease, link, machine] { check(notes) }
        let assigned = NetworkNotes(assignments: text, servers: "DNS")
        precondition(link == assigned || link == NetworkNotes(), "a link has all that is noted, or nothing")
        precondition(machine.captivePortalAPI == nil)
    }
}

/// It keeps to the limits, and reads the same once it is written.
private func check(_ notes: NetworkNotes) {
    precondition(notes.nameServers.count <= NetworkNotes.maximumServers)
    precondition(Set(notes.nameServers).count == notes.nameServers.count)
    precondition(notes.nameServers.allSatisfy { (1...65_535).contains($0.port) })
    if let url = notes.captivePortalAPI {
        precondition((1...NetworkNotes.longestURL).contains(url.utf8.count))
        precondition(url.utf8.allSatisfy { (0x21...0x7e).contains($0) })
    }
    let servers = notes.nameServers.map { server in
        (server.address.isIPv4 ? "\(server.address)" : "[\(server.address)]") + ":\(server.port)"
    }
    let written = """
        NAME_SERVERS=\(servers.joined(separator: " "))
        CAPTIVE_PORTAL=\(notes.captivePortalAPI ?? "")
        """
    precondition(NetworkNotes(assignments: Array(written.utf8), servers: "NAME_SERVERS") == notes)
}
