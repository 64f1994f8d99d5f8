import DNS

/// DNS answers on the setup access point. Every name resolves to the device, so that phones find its page.
struct NameAnswers: Sendable {
    /// IPv4 address of four bytes.
    let address: [UInt8]

    /// - Returns: an answer at most 16 bytes longer than the query; nil for anything but a query with one question.
    func answer(_ datagram: some Collection<UInt8>) -> [UInt8]? {
        guard datagram.count <= Self.longestQuery, let query = try? DNSMessage(reading: datagram), !query.isResponse,
            let question = query.questions.first, query.questions.count == 1
        else { return nil }
        // Answers standard queries only (RFC 1035, 4.1.1).
        guard datagram.dropFirst(2).first.map({ $0 & 0x78 == 0 }) ?? false else { return query.reply(.notImplemented) }
        let labels = question.name.labels.map { $0.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 } }
        // `.local` names are for multicast DNS, so they do not exist here (RFC 6762, 22.1).
        guard labels.last != Array("local".utf8) else { return query.reply(.unknownName) }
        // If this name does not exist, Firefox does not use DNS over HTTPS.
        guard labels != Self.canary else { return query.reply(.unknownName) }
        return query.reply(address: question.type == .ipv4 ? address : nil)
    }

    /// Maximum size of a query in bytes, enough for any name.
    static let longestQuery = 1232
    private static let canary = ["use-application-dns", "net"].map { Array($0.utf8) }
}

extension DNSResponseCode {
    fileprivate static let notImplemented = DNSResponseCode(rawValue: 4)
}
