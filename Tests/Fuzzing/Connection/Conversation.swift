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
