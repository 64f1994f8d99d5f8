/// A source of randomness that gives the same numbers in every run, so that a failing input can be found again
/// (SplitMix64; Steele, Lea and Flood, 2014).
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mixed(state)
    }

    /// How far the state goes on from number to number: 2^64 by the golden ratio.
    public static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// SplitMix64's finaliser: every bit of the value has its say in every bit of what comes out.
    public static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
