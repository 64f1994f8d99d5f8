import AgentModel
import Randomness
import Testing

@testable import Failover

/// Signals that fall, and signals that only tremble.
@Suite struct FadingTests {
    /// 1 dB a second from -66: critical is 14 s away, and 10 s more would pass until that is confirmed.
    // covers: rule/weak-fading, rule/leave-fading, seed/signal-weak
    @Test func aFadingLinkIsLeftBeforeItIsCritical() throws {
        var bench = Bench.online([Bench.home, Bench.backup])
        var signal = -66
        while bench.isOnline, signal > -95 {
            bench.send(.signal(signal))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -55)]) }
            bench.advance(by: .milliseconds(1000))
            signal -= 1
        }
        #expect(bench.target == Bench.backup)
        let join = try #require(bench.take().decisions.last { $0.kind == .join })
        #expect(join.cause == .fading)
        #expect(signal > -82, "at \(signal) dBm")
    }

    // covers: rule/weak-fading
    @Test func aWeakLinkThatDoesNotFallIsGivenTime() {
        var bench = Bench.online([Bench.home, Bench.backup])
        let start = bench.now
        while bench.isOnline, bench.now - start < .seconds(100) {
            bench.send(.signal(-78))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -64)]) }
            bench.advance(by: .milliseconds(2500))
        }
        #expect((30...60).contains((bench.now - start).components.seconds))
    }

    /// Two networks of the same strength, at the threshold, for a day: signals tremble, and the device does not dance.
    // covers: seed/no-ping-pong
    @Test(arguments: [(0, 2.0), (1, 4.0), (2, 6.0), (3, 4.0), (4, 6.0)])
    func nearEqualNetworksAreNoReasonToDance(seed: UInt64, sigma: Double) {
        var random = SeededRandom(seed: seed)
        func noisy(_ mean: Double) -> Int {
            let sum = (0..<12).reduce(0.0) { sum, _ in sum + Double.random(in: 0...1, using: &random) }
            return Int((mean + (sum - 6) * sigma).rounded())
        }
        var bench = Bench.online([Bench.home, Bench.backup])
        var moves = 0
        let start = bench.now
        while bench.now - start < .seconds(24 * 3600) {
            bench.send(.signal(noisy(-72)))
            if bench.policy.scan != nil {
                let other = bench.target == Bench.home ? Bench.backup : Bench.home
                bench.finishScan([bench.observation(other, noisy(-72))])
            }
            if bench.policy.attempt != nil {
                moves += 1
                bench.joinSucceeds()
            }
            bench.advance(by: .milliseconds(2500))
        }
        #expect(moves <= 200, "\(moves) moves in a day")
    }
}
