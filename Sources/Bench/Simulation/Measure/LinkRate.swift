#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The rate that a link can carry: of 20 MHz and one spatial stream (IEEE 802.11-2020, table 19-23 for the least signal of each
/// modulation, table 19-27 for its rate with the long guard interval).
enum LinkRate {
    private static let steps: [(signal: Double, rate: Double)] = [
        (-64, 65), (-65, 58.5), (-66, 52), (-70, 39), (-74, 26), (-77, 19.5), (-79, 13),
    ]
    /// In Mbit/s.
    private static let least = 6.5
    private static let most = 65.0

    /// In Mbit/s, at a signal in dBm.
    static func rate(at signal: Double) -> Double { steps.first { signal >= $0.signal }?.rate ?? least }

    /// From 0 to 1: every doubling of the throughput is worth the same.
    /// - Parameter share: of the frames that get through, 0 to 1.
    static func utility(at signal: Double, share: Double) -> Double {
        guard share > 0 else { return 0 }
        return log2(1 + rate(at: signal) * share) / log2(1 + most)
    }
}
