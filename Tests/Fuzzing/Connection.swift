import AgentModel

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
        for isProven in [false, true] {
            let conversation = HTTPConversation(host: "server.example", port: 80, isProven: isProven)
            let outcome = same(conversation, bytes, isOver: { $0 == .answered })
            if outcome == .answered { checkHTTP(bytes, isProven: isProven) }
        }
        let outcome = same(MQTTConversation(pingEvery: .seconds(30)), bytes, isOver: { _ in false })
        if outcome == .answered {
            precondition(bytes[0] == 0x20 && bytes.count >= 2, "only a connection acknowledgement is an answer")
        }
    }
}

private enum Outcome {
    case answered, waiting, refused
}

private func same<C: Conversation>(_ conversation: C, _ bytes: [UInt8], isOver: (Outcome) -> Bool) -> Outcome {
    let whole = outcome(of: conversation, [bytes[...]], isOver: isOver)
    precondition(whole == outcome(of: conversation, pieces(of: bytes), isOver: isOver), "it depends on how it arrives")
    return whole
}

/// - Parameter isOver: whether what comes behind that is left unread.
private func outcome<C: Conversation>(
    of conversation: C, _ pieces: [ArraySlice<UInt8>], isOver: (Outcome) -> Bool
) -> Outcome {
    var conversation = conversation
    var outcome = Outcome.waiting
    for piece in pieces where !isOver(outcome) {
        do {
            if try conversation.hear(piece) { outcome = .answered }
        } catch {
            return .refused
        }
    }
    return outcome
}

private func checkHTTP(_ bytes: [UInt8], isProven: Bool) {
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
