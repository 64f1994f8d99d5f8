import AgentModel
import DNS
import NIOCore

/// What name servers said lately.
struct NameCache: Sendable {
    private var entries: [DNSQuestion: Entry] = [:]

    /// However long a server says: a device moves between networks, and a server between addresses.
    static let longest = TimeAmount.seconds(300)
    static let maximumEntries = 64

    private struct Entry {
        let addresses: [IPAddress]
        let expiry: NIODeadline
    }

    func addresses(_ question: DNSQuestion, at now: NIODeadline) -> [IPAddress]? {
        guard let entry = entries[question], now < entry.expiry else { return nil }
        return entry.addresses
    }

    mutating func keep(_ answer: NameAnswer, to question: DNSQuestion, at now: NIODeadline) {
        guard answer.timeToLive > 0, !answer.addresses.isEmpty else { return }
        entries = entries.filter { now < $0.value.expiry }
        if entries.count >= Self.maximumEntries, entries[question] == nil,
            let first = entries.min(by: { $0.value.expiry < $1.value.expiry })
        {
            entries[first.key] = nil
        }
        let life = min(.seconds(Int64(answer.timeToLive)), Self.longest)
        entries[question] = Entry(addresses: answer.addresses, expiry: now + life)
    }
}
