import AgentModel
import Testing

@testable import Failover

/// What a move costs, and what staying costs.
@Suite struct PriceTests {
    @Test func aNetworkThatWasNeverLostIsTrustedAndOneThatFallsIsNot() {
        var record = SwitchStatistics()
        #expect(record.expectedStay(seenFor: .zero) == 7200)
        for _ in 1...12 { record.lasted(.seconds(300), isEnd: true) }
        #expect((300...450).contains(record.expectedStay(seenFor: .zero)))
        // It stands for a while, and is trusted again.
        #expect(record.expectedStay(seenFor: .seconds(7200)) > 1600)
    }

    @Test func aLinkThatWasLeftIsNoEnd() {
        var record = SwitchStatistics()
        for _ in 1...10 { record.lasted(.seconds(3600), isEnd: false) }
        #expect(record.expectedStay(seenFor: .zero) > 7200)
    }

    /// The network that leads nowhere has a wait of its own: the return is not held up twice.
    @Test func aNetworkThatLedNowhereHasNotEnded() {
        var bench = UsefulnessTests.online()
        UsefulnessTests.internetDies(&bench)
        bench.finishScan([bench.observation(Bench.backup, -60)])
        #expect(bench.target == Bench.backup)
        #expect((bench.policy.histories[Bench.home.id]?.moves.expectedStay(seenFor: .zero) ?? 0) > 7000)
    }

    /// The router is back before its line is.
    // covers: rule/return-trial
    @Test func aHomeOnTrialIsLeftAfterOneProbe() {
        var bench = UsefulnessTests.online()
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        for _ in 1...3 where bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        bench.joinSucceeds()
        bench.probeEnds(.online)
        _ = PreferredTests.look(&bench, home: -50, for: .seconds(300))
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        bench.advance(by: .milliseconds(1999))
        #expect(bench.isOnline && bench.policy.histories[Bench.home.id]?.lastFailure == nil)
        bench.advance(by: .milliseconds(2))
        #expect(bench.policy.histories[Bench.home.id]?.lastFailure == .noInternet)
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/join-after-leaving
    @Test func theGapIsLearnt() {
        var record = SwitchStatistics()
        #expect(record.gap == nil && record.addressLimit(insteadOfBadLink: true) == nil)
        record.joined(after: .seconds(8))
        #expect(record.gap == .seconds(8))
        for _ in 1...20 { record.joined(after: .milliseconds(400)) }
        #expect((400...500).contains((record.gap ?? .zero).milliseconds))
        #expect(record.addressLimit(insteadOfBadLink: true) == .seconds(5))
        record.addressWasLate()
        #expect(record.addressLimit(insteadOfBadLink: true) == .seconds(10))
        #expect(record.addressLimit(insteadOfBadLink: false) == .seconds(5), "a good link has more to lose")
        record.joined(after: .milliseconds(400))
        #expect(record.addressLimit(insteadOfBadLink: true) == .seconds(5))
    }

    // covers: rule/join-late-address
    @Test func anAddressGetsTwiceTheTimeThatItTook() {
        var record = SwitchStatistics()
        record.joined(after: .milliseconds(400))
        #expect(record.addressPatience(withoutOthers: nil) == .milliseconds(800))
        #expect(record.addressPatience(withoutOthers: .seconds(15)) == .seconds(15))
        for wait in [30, 60, 120, 120, 120] {
            record.addressWasLate()
            #expect(record.addressPatience(withoutOthers: .seconds(15)) == .seconds(wait))
        }
        record.joined(after: .seconds(16))
        #expect(record.gap == .seconds(16), "the mean with quick joins would be too short")
        #expect(record.addressPatience(withoutOthers: nil) == .seconds(32))
        #expect(record.addressPatience(withoutOthers: .seconds(15)) == .seconds(32))
    }

    // covers: rule/cost-signal
    @Test(arguments: [
        (-50, 0.0), (-64, 0.0), (-70, 0.0024), (-77, 0.00558), (-80, 0.177047), (-86, 0.677047), (-100, 1.01038),
    ])
    func whatALinkCostsByItsSignal(signal: Int, rate: Double) {
        let frequency = Frequency(megahertz: 2412)
        #expect(abs(LinkCost.rate(at: signal, on: frequency, settings: PolicySettings()) - rate) < 1e-6)
    }

    /// Home takes 8 s for an address: it is not returned to in half a minute, where the backup is as good.
    // covers: rule/return-paid
    @Test func aHomeWithSlowAddressesIsNotReturnedToAtOnce() {
        func wait(gap: Duration) -> Int64 {
            var bench = PreferredTests.away()
            bench.policy.histories[Bench.home.id, default: NetworkHistory()].moves.joined(after: gap)
            let start = bench.now
            _ = PreferredTests.look(&bench, home: -50, for: .seconds(20_000))
            #expect(bench.target == Bench.home)
            return (bench.now - start).components.seconds
        }
        #expect(wait(gap: .milliseconds(400)) < 70)
        #expect(wait(gap: .seconds(14)) > 1000)
    }
}

/// Frames that are lost at a good signal.
@Suite struct JamTests {
    private static let other = Frequency(megahertz: 2462)

    /// One sample, the scan that it is reason for, and the way out.
    private static func jam(_ bench: inout Bench, _ percent: Int, seeing results: (Bench) -> [BSS]) {
        bench.advance(by: .seconds(10))
        bench.send(.loss(percent: percent))
        bench.send(.signal(-50))
        if bench.policy.scan != nil { bench.finishScan(results(bench)) }
    }

    @Test func aJammedChannelIsLeftForAnotherNetworkOnAnotherChannel() throws {
        var bench = Bench.online()
        for _ in 1...4 where bench.target == Bench.home {
            Self.jam(&bench, 60) { [$0.observation(Bench.backup, -60, channel: 2462)] }
        }
        #expect(bench.target == Bench.backup)
        #expect(try #require(bench.take().decisions.last { $0.kind == .join }).cause == .congested)
    }

    /// Of a heavy loss one sample is enough, for that has cost more than the move already.
    @Test(arguments: [(29, 2), (30, 1), (90, 1)]) func theFirstSampleCounts(percent: Int, samples: Int) {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.signal(-50))
        var count = 0
        while bench.target == Bench.home, count < 9 {
            Self.jam(&bench, percent) { [$0.observation(Bench.backup, -60, channel: 2462)] }
            count += 1
        }
        #expect(count == samples)
    }

    // covers: rule/cost-loss
    @Test func whatIsOnTheSameChannelIsNoWayOut() {
        var bench = Bench.online()
        for _ in 1...20 { Self.jam(&bench, 60) { [$0.observation(Bench.backup, -40, channel: 2417)] } }
        #expect(bench.target == Bench.home && bench.isOnline)
    }

    /// An oven drowns several channels: there is no dance between two of them.
    // covers: rule/candidate-channel
    @Test func whatWasLeftForAJamIsNoWayOutOfAnother() {
        var bench = Bench.online()
        func seen(_ bench: Bench) -> [BSS] {
            [bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60, channel: 2462)]
        }
        for _ in 1...4 where bench.target == Bench.home { Self.jam(&bench, 60, seeing: seen) }
        #expect(bench.target == Bench.backup)
        bench.joinSucceeds(frequency: 2462)
        let start = bench.now
        while bench.now - start < .seconds(280) { Self.jam(&bench, 60, seeing: seen) }
        #expect(bench.target == Bench.backup && bench.isOnline)
        while bench.now - start < .seconds(360), bench.target == Bench.backup { Self.jam(&bench, 60, seeing: seen) }
        #expect(bench.target == Bench.home, "after five minutes it may be over there")
    }

    // covers: rule/congestion
    @Test(arguments: [-5, 0, 9]) func aLittleIsLostInAnyAir(percent: Int) {
        var bench = Bench.online()
        for _ in 1...50 { Self.jam(&bench, percent) { [$0.observation(Bench.backup, -40, channel: 2462)] } }
        #expect(bench.target == Bench.home && bench.isOnline)
    }

    // covers: rule/return-failed
    @Test func aHomeThatIsJammedIsReturnedToLessOften() {
        var bench = Bench.online()
        let start = bench.now
        var returns = 0
        while bench.now - start < .seconds(3 * 3600) {
            if bench.target == Bench.home {
                for _ in 1...4 where bench.target == Bench.home {
                    Self.jam(&bench, 60) { [$0.observation(Bench.backup, -60, channel: 2462)] }
                }
                #expect(bench.target == Bench.backup)
                bench.joinSucceeds(frequency: 2462)
            }
            _ = PreferredTests.look(&bench, home: -50, for: .seconds(3600))
            guard bench.target == Bench.home else { continue }
            returns += 1
            bench.joinSucceeds()
        }
        #expect((2...8).contains(returns), "\(returns) in three hours")
    }

    /// Numbers that no driver says.
    @Test(arguments: [Int.min, -1, 101, Int.max]) func anyNumberWillDo(percent: Int) {
        var bench = Bench.online()
        for _ in 1...5 { Self.jam(&bench, percent) { [$0.observation(Bench.backup, -60, channel: 2462)] } }
        #expect(bench.policy.phase != .offline)
    }
}
