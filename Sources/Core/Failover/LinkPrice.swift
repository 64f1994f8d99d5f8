import AgentModel

/// What it costs to be on a link by its signal, in seconds of outage by the second: the policy's own estimate, by which moves are
/// weighed.
enum LinkPrice {
    /// Of 20 MHz and one stream (IEEE 802.11-2020, tables 19-23 and 19-27): the least signal in dBm, and log2(1 + rate) / log2(66).
    private static let utilities: [(signal: Int, utility: Double)] = [
        (-64, 1), (-65, 0.975), (-66, 0.948), (-70, 0.880), (-74, 0.787), (-77, 0.721), (-79, 0.630),
    ]
    private static let least = 0.481
    /// A link of no use beside one that is as good as can be.
    private static let weight = 0.02
    /// Frames are lost from so many dB above *floor* on, all of them so many dB further down: assumed.
    private static let onset = 2
    private static let fall = 12.0

    static func rate(at signal: Int, on frequency: Frequency?, settings: PolicySettings) -> Double {
        let utility = utilities.first { signal >= $0.signal }?.utility ?? least
        let lost = Double(settings.thresholds(for: frequency).minimumSignal + onset - signal) / fall
        return min(1, max(0, lost)) + weight * (1 - utility)
    }
}

/// What the device has paid for moves to a network, and how long links to it have lasted.
///
/// The expected stay is a mean of what was seen, earlier ends counting less and less, and of a prior of two hours that fades
/// with them: so a network that was never lost is trusted, and one that falls every few minutes is not trusted for long.
struct MoveRecord: Hashable, Sendable {
    /// From giving a link up for it until it could be used; nil before the first time.
    private(set) var gap: Duration?
    /// Addresses in a row that did not come where a link had been given up for them.
    private var lateAddresses = 0
    /// In seconds.
    private var endured = 3600.0
    private var ends = 0.5

    /// What an earlier end counts at the next.
    private static let memory = 0.8
    /// Of a network that was never joined.
    static let usualGap = Duration.milliseconds(400)

    /// How long an address may take where a link was given up for it: four times what it takes, and long enough for a DHCP client
    /// whose first question was lost and which asks again after 4 s (RFC 2131, 4.1); twice as long after each that was late.
    /// - Parameter isLinkBad: whether that link has little to lose. For the sake of a good one nothing is added.
    func addressLimit(insteadOfBadLink isLinkBad: Bool) -> Duration? {
        gap.map { max(.seconds(5), $0 * 4) * (isLinkBad ? 1 << lateAddresses : 1) }
    }

    mutating func addressWasLate() { lateAddresses = min(lateAddresses + 1, 4) }

    /// - Parameter time: from the order to join until it could be used, with no other link meanwhile.
    mutating func joined(after time: Duration) {
        gap = gap.map { ($0 * 3 + time) / 4 } ?? time
        lateAddresses = 0
    }

    /// A link to it has ended, or the network was seen for so long.
    /// - Parameter isEnd: whether by the network's doing.
    mutating func lasted(_ time: Duration, isEnd: Bool) {
        if isEnd {
            endured *= Self.memory
            ends *= Self.memory
        }
        endured += max(0, Double(time.milliseconds) / 1000)
        ends += isEnd ? 1 : 0
    }

    /// How long the next link to it is expected to last, in seconds.
    /// - Parameter time: for how long it has been there without a link.
    func expectedStay(seenFor time: Duration) -> Double {
        (endured + max(0, Double(time.milliseconds) / 1000)) / max(ends, 0.01)
    }
}

extension FailoverPolicy {
    /// What a move to a network takes, in seconds of outage: nothing but the connections where it is joined before the link in use
    /// is left.
    func price(ofMoveTo network: NetworkID) -> Double {
        let gap = isJoinedBeside(network) ? .zero : histories[network]?.moves.gap ?? MoveRecord.usualGap
        return Double((gap + settings.movePrice).milliseconds) / 1000
    }

    /// The same for the loss of a network that a move has led to, and the way back, which is some day: that one join took long is
    /// little reason to believe that another one will.
    func price(ofLossBackTo network: NetworkID) -> Double {
        min(price(ofMoveTo: network), Self.longestWayBack) + Double(settings.lossPrice.milliseconds) / 1000
    }

    /// In seconds.
    private static let longestWayBack = 2.0

    /// Seconds of outage that a second away from the preferred network is worth.
    var awayRate: Double { 1 / max(1, Double(settings.preferredWorth.milliseconds) / 1000) }
}
