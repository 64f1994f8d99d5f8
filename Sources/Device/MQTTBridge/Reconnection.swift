import AgentModel

/// When a connection is tried again: at random, so that devices that lost the same broker do not come back at one moment.
///
/// N devices that lose it together make at most N / `spread` attempts a second, at any time: the first ones come within the
/// spread, and the second ones begin where those end. A wait that begins at nothing each time ("full jitter") has more:
/// what failed early comes again among the first ones, just when the broker may be back.
struct Reconnection: Sendable {
    private let spread: Duration
    private let longest: Duration
    private var random: Generator
    private(set) var failures = 0

    /// Another client with the same name would be driven out again, and drive this one out in turn.
    private static let afterTakeover = BackOff(first: .seconds(300), last: .seconds(3600))
    /// What refuses a device goes on refusing it, until a person changes that.
    private static let afterRefusal = BackOff(first: .seconds(60), last: .seconds(300))
    private var takeovers = 0
    /// A device that has moved is alone with that, and tries again soon.
    private let afterMove: BackOff
    private static let attemptsAfterMove = 4
    private var hasMoved = false

    /// - Parameters:
    ///   - longest: twice the spread counts where that is longer.
    ///   - seed: of the randomness; one of its own for each device.
    init(spread: Duration, longest: Duration, seed: UInt64) {
        self.spread = spread
        self.longest = max(longest, spread * 2)
        afterMove = BackOff(first: min(.seconds(1), self.longest), last: self.longest)
        random = Generator(state: seed)
    }

    /// The connection stands.
    mutating func succeeded() { (failures, hasMoved) = (0, false) }

    /// The device has moved to another network.
    mutating func moved() { (failures, hasMoved) = (0, true) }

    /// The wait before the next attempt.
    mutating func wait(after kind: BrokerFailure.Kind) -> Duration {
        defer { failures += 1 }
        switch kind {
        case .unreachable:
            if hasMoved, failures < Self.attemptsAfterMove {
                return afterMove.wait(after: failures, atLeast: 0, using: &random)
            }
            return failures == 0 ? random.wait(.zero...spread) : random.wait(longest / 2...longest)
        case .refused: return Self.afterRefusal.wait(after: failures, atLeast: 0.5, using: &random)
        case .takenOver:
            defer { takeovers += 1 }
            return Self.afterTakeover.wait(after: takeovers, atLeast: 0.5, using: &random)
        }
    }

    /// The wait of a device whose network is back, as are perhaps those of all its neighbours.
    mutating func waitAfterOutage() -> Duration {
        (failures, hasMoved) = (1, false)
        return random.wait(.zero...spread)
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014): the same waits from the same seed.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }

        mutating func wait(_ range: ClosedRange<Duration>) -> Duration {
            .milliseconds(Int64.random(in: range.lowerBound.milliseconds...range.upperBound.milliseconds, using: &self))
        }
    }
}
