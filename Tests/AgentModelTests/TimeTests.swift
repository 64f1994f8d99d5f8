import Randomness
import Testing

@testable import AgentModel

struct BackOffTests {
    @Test func waitsDoubleUpToTheLast() {
        let waits = BackOff(first: .milliseconds(200), last: .seconds(5))
        #expect(
            (-1...7).map { waits.wait(after: $0).milliseconds } == [200, 200, 400, 800, 1600, 3200, 5000, 5000, 5000])
        #expect(BackOff(first: .seconds(9), last: .seconds(5)).wait(after: 0) == .seconds(5))
    }

    @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(1), .seconds(Int64.max)])
    func noCountAndNoDurationIsTooLarge(first: Duration) {
        let last = Duration.seconds(Int64.max)
        #expect(BackOff(first: first, last: last).wait(after: .max) == (first == .zero ? .zero : last))
        var random = SeededRandom(seed: 1)
        for least in [0, 0.5, 1] {
            #expect(BackOff(first: first, last: last).wait(after: .max, atLeast: least, using: &random) >= .zero)
        }
    }

    @Test func chanceCutsNoMoreThanItMay() {
        let waits = BackOff(first: .milliseconds(200), last: .seconds(5))
        var random = SeededRandom(seed: 2)
        for (count, longest) in [200, 400, 800, 1600, 3200, 5000, 5000].enumerated() {
            let cut = (1...100).map { _ in waits.wait(after: count, atLeast: 0.5, using: &random).milliseconds }
            #expect(cut.allSatisfy { $0 >= Int64(longest / 2) && $0 <= Int64(longest) })
            #expect(Set(cut).count > 40, "many devices must not come at the same moment")
        }
        let least = (1...1000).map { _ in waits.wait(after: 0, atLeast: 0, using: &random) }.min()
        #expect(least ?? .zero < .milliseconds(20))
        #expect(waits.wait(after: 3, atLeast: 1, using: &random) == .milliseconds(1600))
    }

    @Test func aPartOfTheTimeThatPassed() {
        let waits = BackOff(first: .seconds(10), last: .seconds(60))
        #expect(
            [0, 500, 10_000].map { waits.wait(after: .seconds($0), part: 10) } == [
                .seconds(10), .seconds(50), .seconds(60),
            ])
    }
}

struct TokenBucketTests {
    private let start = Instant(milliseconds: 1_000_000)

    @Test func grantsABurstAndThenARate() {
        var bucket = TokenBucket(3, per: .seconds(1), burst: 2)
        #expect(bucket.isFull)
        for _ in 0..<2 {
            let delay = bucket.delay(at: start)
            #expect(delay == .zero)
            bucket.consume()
        }
        // A third of a second, and whole milliseconds: never so short that it would be asked in vain.
        let delays = [0, 333, 334].map { bucket.delay(at: start + .milliseconds($0)) }
        #expect(delays == [.milliseconds(334), .milliseconds(1), .zero])
    }

    /// However often it is asked, nothing is lost by rounding.
    @Test func countsExactly() {
        var bucket = TokenBucket(7, per: .seconds(1), burst: 1)
        var taken = 0
        for millisecond in 0..<100_000 where bucket.delay(at: start + .milliseconds(millisecond)) == .zero {
            bucket.consume()
            taken += 1
        }
        #expect(taken == 700)
    }

    @Test func whatIsOwedIsMissingLater() {
        var bucket = TokenBucket(10, per: .seconds(1), burst: 10)
        bucket.consume(15)
        let delays = [0, 500, 600].map { bucket.delay(at: start + .milliseconds($0)) }
        #expect(delays == [.milliseconds(600), .milliseconds(100), .zero])
    }

    @Test(arguments: [(0, 0), (Int.max, Int.max), (-1, -1), (1, .max), (.max, 1)])
    func noNumberIsTooLarge(count: Int, burst: Int) {
        for period in [Duration.zero, .seconds(1), .seconds(Int64.max)] {
            var bucket = TokenBucket(count, per: period, burst: burst)
            for milliseconds in [0, Int64.max, .min, 0, .max] {
                let delay = bucket.delay(at: Instant(milliseconds: milliseconds))
                #expect(delay >= .zero)
                for _ in 0..<3 { bucket.consume(.max) }
            }
            let last = bucket.delay(at: Instant(milliseconds: .max))
            #expect(last > .zero)
        }
    }
}
