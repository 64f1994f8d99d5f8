import AgentModel

/// A question to servers and its repetitions, until an answer comes.
struct Exchange: Hashable, Sendable {
    private(set) var transaction: UInt32
    /// When it was sent first with this number. A lease counts from here, for an answer does not say which repetition it is for.
    private(set) var began: Instant
    /// How many times it was sent.
    private(set) var sent = 1
    /// When it is sent again.
    private(set) var next: Instant
    /// Nil without one that is open.
    var refusal: Refusal?

    /// A NAK of another server than the one that gave the lease: that one has until then to say yes.
    struct Refusal: Hashable, Sendable {
        let server: IPv4Address?
        let text: String
        var end: Instant
    }

    /// When something is due.
    var deadline: Instant { refusal.map { min($0.end, next) } ?? next }

    /// A question that is sent now.
    init(transaction: UInt32, at now: Instant, next: Instant) {
        self.transaction = transaction
        began = now
        self.next = next
    }

    /// It is sent again now.
    mutating func repeats(next: Instant) {
        sent += 1
        self.next = next
    }

    mutating func renumber(_ transaction: UInt32, at now: Instant) { (self.transaction, began) = (transaction, now) }
}

/// When DHCP sends what again. Docs/address.md has the table.
enum DHCPTiming {
    /// The first repetitions are quick: what is lost is mostly the first packet after the association.
    private static let quick: [Duration] = [.milliseconds(100), .milliseconds(200), .milliseconds(400), .seconds(1)]
    /// RFC 2131, 4.1: 4 s, doubled up to 64 s, each by up to a second more or less.
    private static let slow = BackOff(first: .seconds(4), last: .seconds(64))

    /// How many times a question is sent quickly, one after the other. Later repetitions get a number of their own.
    static let quickCount = quick.count + 1

    /// The wait behind a question that was sent `sent` times, from 1.
    static func wait(after sent: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        if quick.indices.contains(sent - 1) { return quick[sent - 1] }
        let jitter = Int64.random(in: -1000...1000, using: &generator)
        return slow.wait(after: sent - quickCount) + .milliseconds(jitter)
    }

    /// RFC 2131, 4.4.5: half of the time that is left, and at least a minute.
    static func renewalWait(at now: Instant, until end: Instant) -> Duration { max(.seconds(60), (end - now) / 2) }

    /// How long the server that gave a lease has to contradict another one: in a network that may be another, and for an
    /// address in use.
    static let refusalWait = Duration.milliseconds(100)
    static let refusalWaitInUse = Duration.seconds(1)

    /// How often the remembered address is asked for before the device looks for a new one: for 0.7 s.
    static let rebootCount = 3
    /// So many servers whose offers led to nothing, and addresses of other hosts, are known.
    static let mostShunned = 16

    /// How often an offered address is asked for before the device begins anew: for about 6 s.
    static let requestCount = quickCount
    /// How often an address in use is asked for before it is kept until its renewal: for about a minute (RFC 2131, 3.2).
    static let confirmCount = quickCount + 3

    /// The wait before the device begins anew, by the number of times in a row that it had to. The first time costs
    /// nothing: networks change. RFC 2131 says nothing, and a server that refuses every request would be asked for ever.
    static func pause(after setbacks: Int) -> Duration {
        setbacks <= 1 ? .zero : BackOff(first: .seconds(1), last: .seconds(64)).wait(after: setbacks - 2)
    }

    /// The wait after an address that is in use (RFC 2131, 3.1): ten seconds, and a minute after many
    /// (RFC 5227, 1.1, `MAX_CONFLICTS` and `RATE_LIMIT_INTERVAL`).
    static func pause(afterConflicts conflicts: Int) -> Duration { conflicts >= 10 ? .seconds(60) : .seconds(10) }

    /// From this repetition on, every second question asks for an answer to all: some networks do not deliver others
    /// to a device that has no address yet.
    static func wantsBroadcast(after sent: Int) -> Bool { sent >= 4 && sent.isMultiple(of: 2) }
}
