import AgentModel
import Testing

@testable import Simulation

/// What is found by looking ahead is what is found by looking at every moment.
@Suite struct LookaheadTests {
    private let end: Int64 = 50_000

    private static let seeds = 100..<112 as Range<UInt64>

    private func world(_ seed: UInt64) -> World {
        World(RandomScenario.scenario(seed: seed, seconds: 25), seed: seed)
    }

    @Test(arguments: seeds)
    func crossingsOfALevel(seed: UInt64) {
        let world = world(seed)
        for accessPoint in world.accessPoints {
            let signals = (0..<end).map { world.signal(of: accessPoint, at: $0) }
            for level in [-88.0, -74, -60, -45] {
                for below in [true, false] {
                    var from: Int64 = 0
                    while from < end {
                        let found = world.firstMoment(of: accessPoint, in: from..<end) { _ in
                            below ? .below(level) : .above(level)
                        }
                        let wanted = signals[Int(from)...].firstIndex { below ? $0 < level : $0 > level }
                        guard found == wanted.map(Int64.init) else {
                            Issue.record("\(accessPoint), \(level) from \(from): \(found ?? -1), not \(wanted ?? -1)")
                            return
                        }
                        from += 7_456
                    }
                }
            }
        }
    }

    @Test(arguments: seeds)
    func lostTimeIsTheSumOfEveryMoments(seed: UInt64) {
        let world = world(seed)
        for accessPoint in world.accessPoints {
            // A change lies at a whole millisecond, so what lies between two of them is a straight line at most.
            for range in [0..<end, 2_345..<38_765, 24_001..<26_000, 7..<8] as [Range<Int64>] {
                let sum = range.reduce(0.0) { sum, moment in
                    let span = world.span(of: accessPoint, at: moment)
                    guard span.isUseful else { return sum + 1 }
                    let piece = world.piece(of: accessPoint, in: span, at: moment)
                    let signal = (piece.signal(at: moment) + piece.signal(at: moment + 1)) / 2
                    let share = world.tracks[accessPoint].loss.share(at: signal)
                    return sum + span.interference + (1 - span.interference) * share
                }
                let lost = world.lostTime(of: accessPoint, in: range)
                #expect(abs(lost - sum) < 0.1, "access point \(accessPoint), \(range)")
            }
        }
    }

    @Test(arguments: seeds)
    func outagesAreWhenNothingGetsThrough(seed: UInt64) {
        let world = world(seed)
        for accessPoint in world.accessPoints {
            let outages = world.outages(of: accessPoint, in: 0..<end)
            for moment in stride(from: 0, to: end, by: 97) {
                let isOut = world.quality(of: accessPoint, at: .milliseconds(moment)) < 0.005
                let isListed = outages.contains { $0.contains(moment) }
                guard isOut != isListed else { continue }
                // Near the end of the curve a rounding may decide.
                let quality = world.quality(of: accessPoint, at: .milliseconds(moment))
                #expect(quality < 0.02, "\(accessPoint) at \(moment)")
            }
        }
    }

    @Test(arguments: seeds)
    func aLinkBreaksWhereItsAccessPointWasSilentForLong(seed: UInt64) {
        let world = world(seed)
        for accessPoint in world.accessPoints {
            let patience = StackTiming().lossDetection
            let silent = (0..<end + 5000).map { world.loss(of: accessPoint, at: $0) >= World.deafness }
            var from: Int64 = 0
            while let start = silent[Int(from)...].firstIndex(of: false), start < end {
                let (loss, _, searched) = world.linkLoss(
                    of: accessPoint, in: Int64(start)..<end, patience: patience)
                if let loss {
                    #expect(loss > Int64(start))
                    // Silent for long by then, or off.
                    let before = silent[..<Int(min(loss, end + 4999))].lastIndex(of: false) ?? 0
                    let wasOff = (before..<Int(loss)).contains {
                        !world.span(of: accessPoint, at: Int64($0)).state.isOn
                    }
                    let isBackFromOff = (max(0, loss - patience.upperBound)..<loss).contains {
                        !world.span(of: accessPoint, at: $0).state.isOn
                    }
                    #expect(wasOff || isBackFromOff || loss - Int64(before) >= patience.lowerBound)
                    from = max(loss, Int64(start) + 1)
                } else {
                    #expect(searched >= end)
                    // Nowhere was it silent for longer than the kernel bears.
                    var run = 0
                    for isSilent in silent[start..<Int(end)] {
                        run = isSilent ? run + 1 : 0
                        #expect(run <= patience.upperBound + 1)
                    }
                    from = end
                }
                guard from < end else { break }
            }
        }
    }
}
