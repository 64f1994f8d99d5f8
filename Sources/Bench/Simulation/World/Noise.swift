import Randomness

/// Randomness that is a pure function of what it is for: the same seed, subject and moment always give the same number,
/// in whatever order anybody asks. So every policy meets the same air.
struct Noise: Sendable {
    private let key: UInt64

    /// - Parameter pass: every pass of a scenario has noise of its own.
    init(seed: UInt64, pass: Int64) {
        key = SeededRandom.mixed(seed &+ SeededRandom.mixed(UInt64(bitPattern: pass) &+ SeededRandom.step))
    }

    /// What the randomness is for.
    enum Subject: UInt64 {
        case shadowing = 1
        case fading
        case averagedFading
        case sighting
        case frame
        case lossDetection
        case thresholdReport
        case association
    }

    private func bits(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> UInt64 {
        let place = UInt64(truncatingIfNeeded: accessPoint) << 8 | subject.rawValue
        return SeededRandom.mixed(SeededRandom.mixed(key ^ place &* 0xd6e8_feb8_6659_fd93) &+ UInt64(bitPattern: index))
    }

    /// Evenly distributed in 0 ..< 1.
    func share(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> Double {
        Double(bits(subject, of: accessPoint, index) >> 11) * 0x1p-53
    }

    /// Evenly distributed between the bounds.
    func number(_ subject: Subject, of accessPoint: Int, _ index: Int64, in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(share(subject, of: accessPoint, index) * Double(range.count))
    }

    /// Nearly normal with mean 0 and standard deviation 1: the sum of four even distributions (Irwin and Hall), which
    /// never leaves ±`deviationLimit`.
    func deviation(_ subject: Subject, of accessPoint: Int, _ index: Int64) -> Double {
        let bits = bits(subject, of: accessPoint, index)
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + bits >> 48
        return (Double(sum) / 65535 - 2) * 3.0.squareRoot()
    }

    /// No deviation is greater than this many standard deviations.
    static let deviationLimit = 2 * 3.0.squareRoot()
}
