import AgentModel

/// Measured joins of a network, and how long its links last.
///
/// The expected stay is a mean over the links so far. Earlier ends count less, and a prior of two hours fades with
/// them.
struct SwitchStatistics: Hashable, Sendable {
    /// Time from the order to join until the link was usable; nil before the first join.
    private(set) var gap: Duration?
    /// Addresses in a row that did not come in time.
    private var lateAddresses = 0
    /// Weighted duration of links so far, in seconds.
    private var endured = 3600.0
    private var ends = 0.5

    /// Weight of an earlier end at the next.
    private static let memory = 0.8
    /// Gap of a network that was never joined.
    static let usualGap = Duration.milliseconds(400)

    /// Longest wait for an address after a link was given up: four times the gap, and long enough for a DHCP client
    /// whose first question was lost (RFC 2131, 4.1: it asks again after 4 s). Doubles with each late address.
    /// - Parameter isLinkBad: whether the link given up was of little use. For a good one nothing doubles.
    func addressLimit(insteadOfBadLink isLinkBad: Bool) -> Duration? {
        gap.map { max(.seconds(5), $0 * 4) * (isLinkBad ? 1 << lateAddresses : 1) }
    }

    /// Time that an address always gets: twice what the join took. Where nothing else can be joined, `limit`, twice as
    /// long after each address that was late.
    func addressPatience(withoutOthers limit: Duration?) -> Duration {
        min(Self.mostPatience, max((gap ?? .zero) * 2, (limit ?? .zero) * (1 << lateAddresses)))
    }

    private static let mostPatience = Duration.seconds(120)

    mutating func addressWasLate() { lateAddresses = min(lateAddresses + 1, 4) }

    mutating func joined(after time: Duration) {
        let mean = gap.map { ($0 * 3 + time) / 4 } ?? time
        // The join that brings an address after late ones shows how long it takes.
        gap = lateAddresses > 0 ? max(mean, time) : mean
        lateAddresses = 0
    }

    /// - Parameters:
    ///   - time: how long the link lasted, or the network was seen.
    ///   - isEnd: whether the network ended it.
    mutating func lasted(_ time: Duration, isEnd: Bool) {
        if isEnd {
            endured *= Self.memory
            ends *= Self.memory
        }
        endured += max(0, time.seconds)
        ends += isEnd ? 1 : 0
    }

    /// Whether links end so often that another network is better.
    var isShortLived: Bool { expectedStay(seenFor: .zero) < Self.shortStay }

    /// Expected stay below which links are short, in seconds.
    private static let shortStay = 600.0

    /// Expected duration of the next link, in seconds.
    /// - Parameter time: how long the network has been in range without a link.
    func expectedStay(seenFor time: Duration) -> Double { (endured + max(0, time.seconds)) / max(ends, 0.01) }
}
