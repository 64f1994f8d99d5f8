import AgentModel

/// Random waits between connection attempts, so that a fleet that lost its broker does not reconnect at once.
///
/// N devices that lose the broker together make at most N / `spread` attempts a second: the first attempts fill the
/// spread, and the second attempts begin after it. Waits that always start at zero ("full jitter") exceed this rate,
/// because early second attempts join the first ones.
struct Reconnection: Sendable {
    private let spread: Duration
    private let longest: Duration
    private var random: Generator
    private(set) var failures = 0

    /// Waits after a takeover. They are long, because clients with the same name keep replacing each other.
    private static let afterTakeover = BackOff(first: .seconds(300), last: .seconds(3600))
    /// Waits after a refusal. They are long, because only a person can fix its cause.
    private static let afterRefusal = BackOff(first: .seconds(60), last: .seconds(300))
    private var takeovers = 0
    /// Waits after a move. They are short, because other devices do not move at the same time.
    private let afterMove: BackOff
    private static let attemptsAfterMove = 4
    private var hasMoved = false

    /// - Parameters:
    ///   - longest: longest wait; at least twice the spread.
    ///   - seed: seed of the random numbers, different for each device.
    init(spread: Duration, longest: Duration, seed: UInt64) {
        self.spread = spread
        self.longest = max(longest, spread * 2)
        afterMove = BackOff(first: min(.seconds(1), self.longest), last: self.longest)
        random = Generator(state: seed)
    }

    mutating func succeeded() { (failures, hasMoved) = (0, false) }

    /// Records a switch to another network. Call this after the switch.
    mutating func moved() { (failures, hasMoved) = (0, true) }

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

    /// Returns the wait after the network has returned. It is random, because other devices may reconnect too.
    mutating func waitAfterOutage() -> Duration {
        (failures, hasMoved) = (1, false)
        return random.wait(.zero...spread)
    }

    /// Generator SplitMix64 (Steele, Lea and Flood, 2014).
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
