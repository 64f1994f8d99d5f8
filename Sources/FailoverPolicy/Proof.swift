import AgentModel

/// When a link is probed, and what came of the last probes.
struct Proof: Sendable, Hashable {
    /// When to ask next, and by when what was asked has to be answered; never both.
    private(set) var next: Instant?
    private(set) var deadline: Instant?
    /// The last results, the newest in the lowest bit: set where a probe failed.
    private var results: UInt8 = 0
    /// Successes in a row.
    private(set) var successes = 0

    /// So many probes are looked back on.
    static let lookBack = 5
    private static let window = UInt8(1 << lookBack - 1)

    var moment: Instant? { next ?? deadline }

    /// Of the last five probes; interference lets one through now and then, and that is no proof of anything.
    var failures: Int { (results & Self.window).nonzeroBitCount }

    var isUnderWay: Bool { deadline != nil }

    mutating func askAgain(at moment: Instant) {
        next = moment
        deadline = nil
    }

    mutating func asked(until deadline: Instant) {
        next = nil
        self.deadline = deadline
    }

    /// - Parameter moment: when to ask again; nil: not at all.
    mutating func ended(well isWell: Bool, next moment: Instant?) {
        results = results << 1 | (isWell ? 0 : 1)
        successes = isWell ? successes + 1 : 0
        next = moment
        deadline = nil
    }
}
