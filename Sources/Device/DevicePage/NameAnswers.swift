import AgentModel
import DNS

/// Answers questions for names on the device's access point: every name leads to the device, so that whatever a phone asks
/// for, it finds the page.
struct NameAnswers: Sendable {
    /// Four bytes.
    let address: [UInt8]

    /// - Parameter datagram: from any sender.
    /// - Returns: an answer that is at most 16 bytes longer than the question; nil for what is no question.
    func answer(_ datagram: some Collection<UInt8>) -> [UInt8]? {
        guard datagram.count <= Self.longestQuery, let query = try? DNSMessage(reading: datagram), !query.isResponse,
            let question = query.questions.first, query.questions.count == 1
        else { return nil }
        // Only plain questions (RFC 1035, 4.1.1).
        guard datagram.dropFirst(2).first.map({ $0 & 0x78 == 0 }) ?? false else { return query.reply(.notImplemented) }
        let labels = question.name.labels.map { $0.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 } }
        // Names of the link are asked for by multicast, and here there are none (RFC 6762, 22.1).
        guard labels.last != Array("local".utf8) else { return query.reply(.unknownName) }
        // Where this name is unknown, Firefox does not ask a name server of its own by HTTPS.
        guard labels != Self.canary else { return query.reply(.unknownName) }
        return query.reply(address: question.type == .ipv4 ? address : nil)
    }

    /// What any client asks without its name being longer than a name may be.
    static let longestQuery = 1232
    private static let canary = ["use-application-dns", "net"].map { Array($0.utf8) }
}

extension DNSResponseCode {
    fileprivate static let notImplemented = DNSResponseCode(rawValue: 4)
}
