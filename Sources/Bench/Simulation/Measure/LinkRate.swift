import Glibc

/// Data rate of a link with 20 MHz and one spatial stream. IEEE 802.11-2020 has the minimum signals in table 19-23 and
/// the rates with the long guard interval in table 19-27.
enum LinkRate {
    private static let steps: [(signal: Double, rate: Double)] = [
        (-64, 65), (-65, 58.5), (-66, 52), (-70, 39), (-74, 26), (-77, 19.5), (-79, 13),
    ]
    /// Lowest rate in Mbit/s.
    private static let least = 6.5
    /// Highest rate in Mbit/s.
    private static let most = 65.0

    /// Returns the rate in Mbit/s for a signal in dBm.
    static func rate(at signal: Double) -> Double { steps.first { signal >= $0.signal }?.rate ?? least }

    /// Returns the utility of a link, 0 to 1. Each doubling of the throughput adds about the same amount.
    /// - Parameter share: delivered share of frames, 0 to 1.
    static func utility(at signal: Double, share: Double) -> Double {
        guard share > 0 else { return 0 }
        return log2(1 + rate(at: signal) * share) / log2(1 + most)
    }
}
