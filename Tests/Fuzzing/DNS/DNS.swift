import DNS

extension FuzzTarget {
    /// It is read or refused; what is read is bounded and can be shown, and its questions can be asked again as they
    /// are.
    static let dns = FuzzTarget(
        "dns", "what a name server or a responder sends", longest: 1024, goal: 100_000_000,
        seeds: { DNSSample.all }
    ) { bytes in
        guard let message = try? DNSMessage(reading: bytes) else { return }
        precondition(message.answers.count <= message.records.count, "more answers than records")
        for name in message.questions.map(\.name) + message.records.map(\.name) { check(name) }
        for record in message.records {
            switch record.data {
            case .alias(let name), .pointer(let name), .service(let name, _): check(name)
            case .ipv4(let bytes): precondition(bytes.count == 4, "an address of another length")
            case .ipv6(let bytes): precondition(bytes.count == 16, "an address of another length")
            case .text(let strings): precondition(strings.allSatisfy { $0.count <= 255 }, "a string that is too long")
            case .other: break
            }
        }
        // Compressed, questions may be more than a message has room for without.
        let query = DNSMessage(asking: message.questions, id: message.id, recursively: message.wantsRecursion)
        guard query.query.count <= DNSMessage.maximumLength else { return }
        guard let again = try? DNSMessage(reading: query.query) else { preconditionFailure("a query cannot be read") }
        precondition(again == query, "a query reads otherwise once it is written")
    }
}

private func check(_ name: DNSName) {
    precondition(name.labels.allSatisfy { (1...63).contains($0.count) }, "a label of a length that there is not")
    precondition(name.labels.reduce(1) { $0 + $1.count + 1 } <= 255, "a name that is too long")
    precondition(name.description.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "a name that cannot be shown")
}
