import AgentModel

/// Cost of staying on the link instead of being at each other access point, added up over time. A sum never falls below
/// 0, so that noise does not add up (CUSUM; Page, Continuous inspection schemes, 1954).
struct SwitchBenefit: Hashable, Sendable {
    private var sums: [BSSID: Double] = [:]
    private var countedUntil: Instant?
    /// Cost of the frames that the link has lost since it began to lose some.
    private(set) var lost = 0.0

    /// Longest time between two samples that counts.
    private static let longestSample = Duration.seconds(60)
    /// The cost before an access point was first seen counts up to this much for it.
    private static let mostBefore = 2.0

    subscript(bssid: BSSID) -> Double { sums[bssid] ?? 0 }

    /// - Parameters:
    ///   - savings: cost saved in each second by being there. The sum of any other access point starts again.
    ///   - loss: share of frames that the link loses.
    mutating func count(_ savings: [BSSID: Double], loss: Double, at now: Instant) {
        let time = min(now - (countedUntil ?? now), Self.longestSample).seconds
        countedUntil = now
        let before = min(lost, Self.mostBefore)
        lost = loss > 0 ? lost + loss * time : 0
        sums = Dictionary(
            uniqueKeysWithValues: savings.map { bssid, saving in
                (bssid, max(0, (sums[bssid] ?? (saving > 0 ? before : 0)) + saving * time))
            })
    }
}
