import AgentModel

/// Request to servers with its retransmissions.
struct Exchange: Hashable, Sendable {
    private(set) var transaction: UInt32
    /// Time of the first transmission with this transaction ID. The lease counts from here, because the answer does not
    /// identify the retransmission.
    private(set) var began: Instant
    private(set) var sent = 1
    /// Time of the next transmission.
    private(set) var next: Instant
    var refusal: Refusal?

    /// NAK from a server that did not give the lease. The lease's server can overrule it until `end`.
    struct Refusal: Hashable, Sendable {
        let server: IPv4Address?
        let text: String
        var end: Instant
    }

    var deadline: Instant { refusal.map { min($0.end, next) } ?? next }

    init(transaction: UInt32, at now: Instant, next: Instant) {
        self.transaction = transaction
        began = now
        self.next = next
    }

    mutating func repeats(next: Instant) {
        sent += 1
        self.next = next
    }

    mutating func renumber(_ transaction: UInt32, at now: Instant) { (self.transaction, began) = (transaction, now) }
}

/// Retransmission times of DHCP. See Docs/contributor/address.md.
enum DHCPTiming {
    /// Quick first waits: usually only the first packet after the association is lost.
    private static let quick: [Duration] = [.milliseconds(100), .milliseconds(200), .milliseconds(400), .seconds(1)]
    /// Slow repetition (RFC 2131, 4.1): 4 s, doubling up to 64 s, with up to 1 s of random deviation.
    private static let slow = BackOff(first: .seconds(4), last: .seconds(64))

    /// Number of quick transmissions. Later ones get a new transaction ID.
    static let quickCount = quick.count + 1

    /// Wait after a message was sent `sent` times, at least 1.
    static func wait(after sent: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        if quick.indices.contains(sent - 1) { return quick[sent - 1] }
        let jitter = Int64.random(in: -1000...1000, using: &generator)
        return slow.wait(after: sent - quickCount) + .milliseconds(jitter)
    }

    /// Returns half of the remaining time, at least a minute (RFC 2131, 4.4.5).
    static func renewalWait(at now: Instant, until end: Instant) -> Duration { max(.seconds(60), (end - now) / 2) }

    /// Time for the lease's server to overrule another server's NAK: while rebooting, and for an address in use.
    static let refusalWait = Duration.milliseconds(100)
    static let refusalWaitInUse = Duration.seconds(1)

    /// Number of requests for the remembered address, within 0.7 s, before a new search.
    static let rebootCount = 3
    /// Maximum number of servers that the client avoids, and of addresses.
    static let mostShunned = 16

    /// Number of requests for an offered address, within about 6 s, before starting over.
    static let requestCount = quickCount
    /// Number of requests, within about a minute, to confirm an address in use before keeping it (RFC 2131, 3.2).
    static let confirmCount = quickCount + 3

    /// Pause before starting over. The first restart is immediate, because networks change; the pause limits requests
    /// to a server that always refuses.
    static func pause(after setbacks: Int) -> Duration {
        setbacks <= 1 ? .zero : BackOff(first: .seconds(1), last: .seconds(64)).wait(after: setbacks - 2)
    }

    /// Pause after a conflict (RFC 2131, 3.1): 10 s, and 60 s from the tenth on (RFC 5227, 1.1, `MAX_CONFLICTS` and
    /// `RATE_LIMIT_INTERVAL`).
    static func pause(afterConflicts conflicts: Int) -> Duration { conflicts >= 10 ? .seconds(60) : .seconds(10) }

    /// Returns true for every second request from the fourth on, which asks for a broadcast answer. Some networks do
    /// not deliver unicast to a device without an address.
    static func wantsBroadcast(after sent: Int) -> Bool { sent >= 4 && sent.isMultiple(of: 2) }
}
