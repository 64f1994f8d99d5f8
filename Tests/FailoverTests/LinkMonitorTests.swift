import AgentModel
import Testing

@testable import Failover

@Suite struct LinkMonitorTests {
    private let start = Instant(milliseconds: 0)
    private let settings = PolicySettings()

    private func monitor(_ signals: [Int], every interval: Duration = .seconds(1)) -> LinkMonitor {
        var monitor = LinkMonitor()
        for (index, signal) in signals.enumerated() {
            monitor.add(
                signal, at: start + interval * index, thresholds: settings.twoPointFour, recovery: settings.recovery)
        }
        return monitor
    }

    // covers: rule/weak-recovery
    @Test func aWeakRunEndsWithSomethingToSpare() {
        #expect(monitor([-70]).weakSince == nil)
        #expect(monitor([-60, -71, -69]).weakSince == start + .seconds(1))
        #expect(monitor([-71, -68]).weakSince == nil)
    }

    // covers: rule/weak-fading
    @Test func aClearFallIsFading() {
        #expect(monitor([-70, -71, -72, -73, -74, -75, -76, -77]).isFading)
        #expect(!monitor([-71, -77, -71, -77, -71, -77, -71, -77]).isFading)
        #expect(!monitor([-77, -76, -75, -74, -73, -72, -71, -70]).isFading)
        #expect(!monitor([-64, -65, -66, -67, -68, -69, -70, -71]).isFading, "too few weak samples")
    }

    // covers: rule/weak-level
    @Test func threeSamplesShowASuddenFall() {
        #expect(monitor([-55, -55, -84, -84]).level == -69, "two low samples may be noise")
        #expect(monitor([-55, -55, -84, -84, -84]).level == -84)
        #expect(monitor([-60, -60, -77, -77, -77]).level == -70, "less than 18 dB")
    }

    // covers: rule/weak-fading
    @Test func aSuddenFallToACriticalSignalIsFading() {
        #expect(monitor([-55, -55, -71, -80, -83, -84, -84]).isFading)
        #expect(monitor([-55, -76, -83, -84, -84]).isFading)
        #expect(!monitor([-55, -55, -75, -84, -84]).isFading, "two critical samples")
        #expect(!monitor([-83, -84, -84, -83, -84]).isFading, "no fall")
        #expect(!monitor([-55, -55] + Array(repeating: -84, count: 30)).isFading, "the fall was long ago")
    }

    // covers: rule/congestion
    @Test(arguments: [(-5, 0), (9, 0), (10, 0.1), (50, 0.5), (300, 1)] as [(Int, Double)])
    func countsFrameLossFromTenPercentOn(percent: Int, share: Double) {
        var monitor = LinkMonitor()
        monitor.lost(percent, at: start)
        #expect(monitor.loss == share)
    }

    // covers: rule/congestion
    @Test func forgetsFrameLossThatIsNotMeasuredAnyMore() {
        var monitor = LinkMonitor()
        monitor.lost(50, at: start)
        monitor.add(-50, at: start + .seconds(120), thresholds: settings.twoPointFour, recovery: 2)
        #expect(monitor.loss == 0.5)
        monitor.add(-50, at: start + .seconds(121), thresholds: settings.twoPointFour, recovery: 2)
        #expect(monitor.loss == 0)
    }

    // covers: rule/candidate-channel
    @Test func channelsThatOverlapAreCongestedTogether() {
        var congested = CongestedChannels()
        congested.leave(Frequency(megahertz: 2437), at: start)
        #expect(congested.contains(Frequency(megahertz: 2447), at: start + .seconds(300)))
        #expect(!congested.contains(Frequency(megahertz: 2462), at: start))
        #expect(!congested.contains(Frequency(megahertz: 2437), at: start + .seconds(301)))
    }
}

@Suite struct SwitchBenefitTests {
    private let start = Instant(milliseconds: 0)
    private let one = Bench().observation(Bench.home, 0).bssid
    private let other = Bench().observation(Bench.home, 0, radio: 1).bssid

    @Test func addsUpWhatStayingCosts() {
        var benefit = SwitchBenefit()
        benefit.count([one: 0.5, other: 0.1], loss: 0, at: start)
        #expect(benefit[one] == 0, "no time has passed")
        benefit.count([one: 0.5, other: 0.1], loss: 0, at: start + .seconds(4))
        #expect(benefit[one] == 2 && benefit[other] == 0.4)
    }

    // covers: rule/cost-cusum
    @Test func noiseDoesNotAddUp() {
        var benefit = SwitchBenefit()
        for second in 0..<1000 {
            benefit.count([one: second.isMultiple(of: 2) ? 0.2 : -0.2], loss: 0, at: start + .seconds(second))
        }
        #expect(benefit[one] <= 0.2)
    }

    @Test func startsAgainForWhatWasNotSeen() {
        var benefit = SwitchBenefit()
        benefit.count([one: 1], loss: 0, at: start)
        benefit.count([one: 1], loss: 0, at: start + .seconds(5))
        benefit.count([:], loss: 0, at: start + .seconds(6))
        benefit.count([one: 1], loss: 0, at: start + .seconds(7))
        #expect(benefit[one] == 1)
    }

    @Test func silenceCountsForAMinuteAtMost() {
        var benefit = SwitchBenefit()
        benefit.count([one: 1], loss: 0, at: start)
        benefit.count([one: 1], loss: 0, at: start + .seconds(3600))
        #expect(benefit[one] == 60)
    }

    // covers: rule/cost-before
    @Test func framesLostBeforeAnAccessPointWasSeenCount() {
        var benefit = SwitchBenefit()
        benefit.count([:], loss: 0, at: start)
        benefit.count([:], loss: 0.5, at: start + .seconds(3))
        benefit.count([one: 0.5, other: -0.1], loss: 0.5, at: start + .seconds(4))
        #expect(benefit[one] == 2 && benefit[other] == 0)
        benefit.count([:], loss: 0, at: start + .seconds(5))
        benefit.count([one: 0.5], loss: 0.5, at: start + .seconds(6))
        #expect(benefit[one] == 0.5)
    }
}

@Suite struct AwayTests {
    /// Ten minutes away from home cost a second.
    // covers: rule/cost-away
    @Test func aSecondAwayFromThePreferredNetworkHasACost() {
        let policy = Bench.online().policy
        let place = Frequency(megahertz: 2412)
        let (home, backup) = (Bench.home.id, Bench.backup.id)
        #expect(policy.cost(at: -50, on: place, home, loss: 0) == 0)
        #expect(abs(policy.cost(at: -50, on: place, backup, loss: 0) * 600 - 1) < 0.001)
        #expect(policy.cost(at: -50, on: place, home, loss: 0.5) == 0.5)
    }
}

@Suite struct MoveLimitsTests {
    private let start = Instant(milliseconds: 0)
    private let settings = PolicySettings()

    // covers: rule/limit-hourly
    @Test func movesToWhatIsNotClearlyBetterAreLimitedByTheHour() {
        var limits = MoveLimits()
        var now = start
        var moves = 0
        while now < start + .seconds(3600) {
            if limits.allow(roam: false, toClearlyGood: false, at: now, settings: settings) {
                limits.departs(isRoam: false, at: now, settings: settings)
                moves += 1
            }
            now = now + .seconds(10)
        }
        #expect(moves == 12)
        #expect(limits.allow(roam: false, toClearlyGood: true, at: now, settings: settings))
        #expect(limits.allow(roam: false, toClearlyGood: false, at: now + .seconds(3600), settings: settings))
    }

    @Test func turnsOfNetworksWithoutInternetGetRarer() {
        var moves = NoInternetMoves()
        #expect(!moves.isTurn(after: .seconds(19)) && moves.isTurn(after: .seconds(20)))
        for _ in 0..<3 {
            #expect(moves.allowsSibling)
            moves.moved(again: false, toSibling: true)
        }
        #expect(!moves.allowsSibling)
        for _ in 0..<10 { moves.moved(again: true, toSibling: false) }
        #expect(!moves.isTurn(after: .seconds(3599)) && moves.isTurn(after: .seconds(3600)))
        moves.ended()
        #expect(moves.allowsSibling && moves.isTurn(after: .seconds(20)))
    }
}
