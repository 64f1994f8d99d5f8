import AgentModel
import Testing

@testable import Simulation

@Suite struct WorldTests {
    @Test func framesAreLostBelowAThresholdOfTheBand() {
        let two = FrameLoss(on: Frequency(megahertz: 2412))
        let five = FrameLoss(on: Frequency(megahertz: 5180))
        #expect(two.share(at: -78) == 0 && two.share(at: -84) == 0.5 && two.share(at: -90) == 1)
        #expect(two.share(at: -60) == 0 && two.share(at: -100) == 1)
        #expect(five.share(at: -76) == 0 && five.share(at: -82) == 0.5 && five.share(at: -88) == 1)
    }

    @Test(arguments: [(-70.0, -100.0), (-100, -70), (-80, -82), (-84, -84), (-60, -70), (-95, -91), (-78, -90)])
    func meanLossOfAChangingSignalIsThatOfItsLevels(start: Double, end: Double) {
        let loss = FrameLoss(on: Frequency(megahertz: 2412))
        let count = 100_000
        let sum = (0..<count).reduce(0.0) { sum, index in
            sum + loss.share(at: start + (end - start) * (Double(index) + 0.5) / Double(count))
        }
        #expect(abs(loss.meanShare(from: start, to: end) - sum / Double(count)) < 1e-6)
    }

    @Test func noiseIsNearlyNormal() {
        let noise = Noise(seed: 3, pass: 0)
        let values = (0..<20_000).map { noise.deviation(.shadowing, of: 1, Int64($0)) }
        let mean = values.reduce(0, +) / Double(values.count)
        let variance = values.reduce(0) { $0 + $1 * $1 } / Double(values.count)
        #expect(abs(mean) < 0.03)
        #expect(abs(variance - 1) < 0.03)
        #expect(values.allSatisfy { abs($0) <= Noise.deviationLimit })
        // About 68 of 100 lie within one standard deviation.
        #expect(abs(Double(values.filter { abs($0) < 1 }.count) / Double(values.count) - 0.68) < 0.03)
    }

    @Test func signalGoesAlongItsRamps() {
        let world = World(
            Sketch.house(
                seconds: 1000,
                [
                    (100, .signal(ap: "home", -80, over: .seconds(30))),
                    // From where it is by then: -65.
                    (115, .signal(ap: "home", -45, over: .seconds(10))), (200, .signal(ap: "home", -70, over: .zero)),
                ]), seed: 1)
        let signals = [0, 100, 110, 115, 120, 125, 150, 200].map { world.signal(of: 0, at: .seconds($0)) }
        #expect(signals == [-50, -50, -60, -65, -55, -45, -45, -70])
        // The next pass begins as the first one did.
        #expect(world.signal(of: 0, at: .seconds(1000)) == -50)
        #expect(world.signal(of: 0, at: .seconds(1110)) == -60)
    }

    @Test func signalFallsWithDistance() {
        var accessPoint = Sketch.accessPoint("Home")
        accessPoint.place = .position(Scenario.Point(x: 0, y: 0), atOneMetre: -40, exponent: 3)
        let world = World(
            Sketch.scenario(
                seconds: 1000, networks: [Sketch.network("Home")], accessPoints: [accessPoint],
                [
                    (10, .move(to: Scenario.Point(x: 100, y: 0), over: .seconds(100))),
                    (300, .move(to: Scenario.Point(x: 0, y: 10), over: .zero)),
                ]), seed: 1)
        #expect(world.signal(of: 0, at: .zero) == -40, "nearer than a metre is a metre")
        #expect(world.signal(of: 0, at: .seconds(20)) == -70)
        #expect(world.signal(of: 0, at: .seconds(110)) == -100)
        #expect(world.signal(of: 0, at: .seconds(400)) == -70)
    }

    @Test func shadowingChangesSlowlyAndWithEveryPass() {
        var scenario = Sketch.house(seconds: 600)
        scenario.accessPoints[0].shadowing = 4
        let world = World(scenario, seed: 1)
        let samples = (0..<600).map { world.signal(of: 0, at: .seconds($0)) }
        #expect(Set(samples).count > 500)
        for (before, after) in zip(samples, samples.dropFirst()) { #expect(abs(after - before) < 0.5) }
        #expect(world.signal(of: 0, at: .seconds(30)) != world.signal(of: 0, at: .seconds(630)))
        #expect(World(scenario, seed: 2).signal(of: 0, at: .seconds(30)) != samples[30])
        #expect(World(scenario, seed: 1).signal(of: 0, at: .seconds(30)) == samples[30])
    }

    @Test func interferenceAddsUpAndEnds() {
        let band = 2400...2483
        let world = World(
            Sketch.house(
                seconds: 100,
                [
                    (10, .interference(band, loss: 0.5, for: .seconds(20))),
                    (20, .interference(2430...2450, loss: 0.5, for: .seconds(20))),
                    (50, .interference(band, loss: 1, for: .seconds(10))),
                ]), seed: 1)
        let home = [5, 15, 25, 35, 55, 65].map { world.quality(of: 0, at: .seconds($0)) }
        let backup = [5, 15, 25, 35, 55, 65].map { world.quality(of: 1, at: .seconds($0)) }
        for (found, wanted) in zip(home, [1, 0.5, 0.5, 1, 0, 1]) { #expect(abs(found - wanted) < 1e-9) }
        for (found, wanted) in zip(backup, [1, 0.5, 0.25, 0.5, 0, 1]) { #expect(abs(found - wanted) < 1e-9) }
    }

    @Test func anAccessPointIsOfUseWhereEverythingIsInOrder() {
        let world = World(
            Sketch.house(
                seconds: 100,
                [
                    (10, .power(ap: "home", isOn: false)), (20, .power(ap: "home", isOn: true)),
                    (30, .internet(ap: "home", .dead)), (40, .internet(ap: "home", .online)),
                    (50, .full(ap: "home", true)), (60, .full(ap: "home", false)), (70, .address(ap: "home", nil)),
                ]), seed: 1)
        let moments = [5, 15, 25, 35, 45, 55, 65, 75]
        #expect(moments.map { world.quality(of: 0, at: .seconds($0)) } == [1, 0, 1, 0, 1, 1, 1, 1])
        #expect(
            moments.map { world.isJoinable(0, at: .seconds($0)) }
                == [true, false, true, true, true, false, true, false])
    }

    @Test func aPasswordLetsInOnlyWhoKnowsIt() {
        let home = Sketch.ssid("Home")
        let world = World(
            Sketch.house(
                seconds: 100,
                [
                    (10, .password(ap: "home", "new")), (20, .newPassword(network: home, "new")),
                    (30, .newPassword(network: home, "newest")), (40, .password(ap: "home", nil)),
                ]), seed: 1)
        let moments = [5, 15, 25, 35, 45]
        #expect(
            moments.map { world.state(of: 0, at: .seconds($0)).admission }
                == [.admitted, .wrongPassword, .admitted, .wrongPassword, .notKnown])
        // A device with the old password stays in until the access point changes it.
        #expect(moments.map { world.quality(of: 0, at: .seconds($0)) } == [1, 0, 1, 1, 0])
        #expect(world.network(of: 0) == 0 && world.network(of: 1) == 1)
    }

    @Test func fiveGigahertzNeedsARadioForIt() {
        var scenario = Sketch.house(seconds: 10)
        scenario.accessPoints[1].frequency = Frequency(megahertz: 5180)
        #expect(World(scenario, seed: 1).quality(of: 1, at: .zero) == 1)
        scenario.radio.hasFiveGigahertz = false
        let world = World(scenario, seed: 1)
        #expect(world.quality(of: 1, at: .zero) == 0)
        #expect(!world.isJoinable(1, at: .zero))
    }

    @Test func wiFiIsInDemandWhileTheDeviceIsAwakeAndHasNothingElse() {
        let world = World(
            Sketch.house(
                seconds: 100,
                [
                    (10, .otherUplink(.wired)), (20, .suspend(for: .seconds(20))), (30, .otherUplink(nil)),
                    (50, .suspend(for: .seconds(10))), (55, .suspend(for: .seconds(15))),
                    (90, .suspend(for: .seconds(1000))),
                ]), seed: 1)
        let moments = [5, 15, 25, 35, 45, 53, 65, 75, 95, 105]
        #expect(
            moments.map { world.isInDemand(at: .seconds($0)) }
                == [true, false, false, false, true, false, false, true, false, true])
    }

    @Test(arguments: 0..<15 as Range<UInt64>)
    func steadyMeansThatNothingChanges(seed: UInt64) {
        let world = World(RandomScenario.scenario(seed: seed, seconds: 300), seed: seed)
        for accessPoint in world.accessPoints {
            var time = Duration.zero
            while time < .seconds(900) {
                let end = max(world.steadyUntil(of: accessPoint, from: time), time + .milliseconds(400))
                let quality = world.quality(of: accessPoint, at: time)
                guard world.steadyUntil(of: accessPoint, from: time) > time else {
                    time += .milliseconds(400)
                    continue
                }
                for probe in stride(from: time.milliseconds, to: min(end, .seconds(900)).milliseconds, by: 333) {
                    let moment = Duration.milliseconds(probe)
                    guard moment < world.steadyUntil(of: accessPoint, from: time) else { break }
                    #expect(abs(world.quality(of: accessPoint, at: moment) - quality) < 1e-9)
                    #expect(world.isJoinable(accessPoint, at: moment) == world.isJoinable(accessPoint, at: time))
                    #expect(world.isInDemand(at: moment) == world.isInDemand(at: time))
                }
                time = end
            }
        }
    }
}

/// Looking ahead finds the same as looking at every moment.
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
