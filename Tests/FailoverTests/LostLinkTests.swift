import AgentModel
import Testing

@testable import Failover

/// That a link ends which was up blocks nothing, and where nothing else can be joined nothing is blocked at all.
@Suite struct LostLinkTests {
    private static let home = Bench.home
    private static let backup = Bench.backup

    /// Home is joined as soon as it is wanted, on whatever channels the device scans.
    private func join(_ bench: inout Bench, _ results: (Bench) -> [BSS], within limit: Duration = .seconds(6))
        -> Duration
    {
        let start = bench.now
        // An access point that was seen at the very moment of the loss may be gone with it.
        if bench.policy.attempt == nil { bench.advance(by: .milliseconds(10)) }
        while bench.policy.attempt == nil, bench.now - start < limit {
            if bench.policy.scan != nil { bench.finishScan(results(bench)) }
            if bench.policy.attempt == nil { bench.advance(by: .milliseconds(50)) }
        }
        return bench.now - start
    }

    // covers: rule/block-loss
    @Test(arguments: LinkEnd.allCases, [1, 5, 20, 55])
    func aLinkThatIsLostAgainAndAgainBlocksNothing(end: LinkEnd, life: Int) {
        var bench = Bench.online([Self.home])
        for _ in 0..<20 {
            bench.advance(by: .seconds(life))
            bench.send(.linkLost(end))
            let wait = join(&bench) { [$0.observation(Self.home, -50)] }
            #expect(wait <= .milliseconds(5100))
            bench.joinSucceeds()
            #expect(bench.isOnline)
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
    }

    @Test func aLinkThatLivedForAWhileIsJoinedAgainAtOnce() {
        var bench = Bench.online([Self.home])
        for _ in 0..<20 {
            bench.advance(by: .seconds(4))
            bench.send(.linkLost())
            #expect(join(&bench) { [$0.observation(Self.home, -50)] } <= .milliseconds(100))
            bench.joinSucceeds()
        }
    }

    /// Firmware that crashes ends the link first, and takes the interface away then.
    // covers: rule/lost-radio
    @Test(arguments: [(1, true), (6, false)]) func aRadioThatGoesIsToBlameForTheLoss(seconds: Int, isBlamed: Bool) {
        var bench = Bench.online([Self.home, Self.backup])
        bench.send(.scanned(id: nil, [bench.observation(Self.home, -50), bench.observation(Self.backup, -55)]))
        bench.advance(by: .seconds(1))
        bench.send(.linkLost())
        bench.advance(by: .seconds(seconds))
        bench.send(.interface(isUp: false))
        bench.advance(by: .milliseconds(500))
        bench.send(.interface(isUp: true))
        #expect((bench.policy.attempt?.network == Self.home.id) == isBlamed)
    }

    // covers: rule/block-loss
    @Test func anAddressThatGoesAgainAndAgainBlocksNothing() {
        var bench = Bench.online([Self.home])
        for _ in 0..<10 {
            bench.advance(by: .seconds(5))
            bench.send(.address(isReady: false))
            bench.advance(by: .seconds(15))
            #expect(!bench.isOnline)
            #expect(join(&bench) { [$0.observation(Self.home, -50)] } <= .seconds(5))
            bench.joinSucceeds()
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
    }

    /// One that lets the device in and throws it out at once: again and again, and never in a hot loop.
    // covers: rule/retry-wait
    @Test func whatThrowsTheDeviceOutAtOnceIsTriedEveryFiveSeconds() {
        var bench = Bench.online([Self.home])
        var waits: [Duration] = []
        for _ in 0..<12 {
            bench.send(.linkLost())
            waits.append(join(&bench) { [$0.observation(Self.home, -50)] })
            bench.joinSucceeds()
        }
        #expect(waits.dropFirst().first.map { $0 <= .milliseconds(1100) } ?? false, "\(waits)")
        #expect(waits.allSatisfy { $0 <= .milliseconds(5100) }, "\(waits)")
        #expect(waits.dropFirst(4).allSatisfy { $0 >= .milliseconds(4900) }, "\(waits)")
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
    }

    // covers: rule/block-alone
    @Test(arguments: [JoinFailure.timeout, .rejected, .notFound, .linkLost, .accessPointFull])
    func whereNothingElseCanBeJoinedNothingIsBlocked(failure: JoinFailure) {
        var bench = Bench([Self.home])
        bench.start()
        var waits: [Duration] = []
        for _ in 0..<12 {
            waits.append(join(&bench) { [$0.observation(Self.home, -50)] })
            bench.joinFails(failure)
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
        #expect(waits[1] <= .seconds(1) && waits[2] <= .milliseconds(1100), "\(waits)")
        #expect(waits.allSatisfy { $0 <= .milliseconds(5100) }, "\(waits)")
        #expect(waits.dropFirst(5).allSatisfy { $0 >= .milliseconds(4900) }, "\(waits)")
    }

    // covers: rule/join-late-address
    @Test func whereNoAddressComesAndNothingElseIsThereNothingIsBlocked() {
        var bench = Bench([Self.home])
        bench.start()
        for wait in [15, 30, 60, 120, 120, 120] {
            #expect(join(&bench) { [$0.observation(Self.home, -50)] } <= .milliseconds(5100))
            bench.associates()
            bench.advance(by: .milliseconds(wait * 1000 - 1))
            #expect(bench.policy.attempt != nil, "each try waits twice as long as the one before")
            bench.advance(by: .milliseconds(1))
            #expect(bench.policy.attempt == nil)
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
    }

    /// An address that comes after 16 s is waited for in the second try, and from then on in the first.
    // covers: rule/join-late-address
    @Test func anAddressThatCameLateIsWaitedForTheNextTime() {
        var bench = Bench([Self.home])
        bench.start()
        for wait in [15, 16] {
            _ = join(&bench) { [$0.observation(Self.home, -50)] }
            bench.associates()
            bench.advance(by: .seconds(wait))
        }
        bench.send(.address(isReady: true))
        #expect(bench.isOnline)
        bench.advance(by: .seconds(60))
        bench.send(.linkLost())
        _ = join(&bench) { [$0.observation(Self.home, -50)] }
        bench.associates()
        bench.advance(by: .seconds(31))
        #expect(bench.policy.attempt != nil)
    }

    /// With another network in range an address gets its 15 s.
    @Test func besideOthersEveryTryIsAsLong() {
        var bench = Bench([Self.home, Self.backup])
        bench.start()
        let both = { (bench: Bench) in
            [bench.observation(Self.home, -50), bench.observation(Self.backup, -60, channel: 2437)]
        }
        for _ in 0..<3 {
            _ = join(&bench, both, within: .seconds(40))
            bench.associates()
            bench.send(.scanned(id: nil, both(bench)))
            let epoch = bench.policy.attempt?.epoch
            bench.advance(by: .seconds(15))
            #expect(bench.policy.attempt?.epoch != epoch)
        }
    }

    /// A block is for the good of the others. Without them it does not count.
    // covers: rule/last-open
    @Test func aBlockDoesNotCountWhereTheOthersHaveGone() {
        var bench = Bench([Self.home, Self.backup])
        bench.start()
        bench.finishScan([bench.observation(Self.home, -50), bench.observation(Self.backup, -60)])
        bench.joinFails(.rejected)
        #expect(bench.take().decisions.contains { $0.kind == .blocked })
        #expect(bench.target == Self.backup)
        bench.joinSucceeds()
        bench.advance(by: .seconds(4))
        bench.send(.linkLost())
        #expect(join(&bench) { [$0.observation(Self.home, -50)] } <= .seconds(3))
        #expect(bench.target == Self.home)
    }

    // covers: rule/block-alone
    @Test func aWrongKeyBlocksAlsoWhereNothingElseIsThere() {
        var bench = Bench([Self.home])
        bench.start()
        for _ in 0..<2 {
            _ = join(&bench) { [$0.observation(Self.home, -50)] }
            bench.joinFails(.wrongKey)
        }
        #expect(bench.take().decisions.contains { $0.kind == .blocked })
        #expect(join(&bench) { [$0.observation(Self.home, -50)] } >= .seconds(6))
    }

    // MARK: Beside others

    private func lose(_ bench: inout Bench, times: Int, seeing results: (Bench) -> [BSS]) {
        for _ in 0..<times {
            bench.advance(by: .seconds(20))
            bench.send(.linkLost())
            _ = join(&bench, results)
            bench.joinSucceeds()
        }
    }

    // MARK: The search after a loss

    // covers: rule/lost-all-channels, rule/lost-reconnect
    @Test func knownChannelsAreLookedAtCloselyAndAllChannelsLater() {
        var bench = Bench.online([Self.home])
        bench.advance(by: .seconds(10))
        _ = bench.take()
        let lost = bench.now
        bench.send(.linkLost(.silence))
        var scans: [(at: Duration, isFull: Bool)] = []
        while bench.now - lost < .seconds(2) {
            scans += bench.take().scans.map { (bench.now - lost, $0.frequencies.isEmpty) }
            if bench.policy.scan != nil { bench.finishScan() }
            bench.advance(by: .milliseconds(10))
        }
        #expect(scans.count { !$0.isFull && $0.at < .milliseconds(1500) } >= 5)
        #expect(scans.first { $0.isFull }.map { $0.at >= .milliseconds(1500) } ?? false)
    }

    // covers: rule/lost-all-channels, rule/lost-reconnect
    @Test func allChannelsAreLookedAtAtOnceWhereANetworkWasNeverSeen() {
        var bench = Bench.online([Self.home, Self.backup])
        bench.advance(by: .seconds(1))
        _ = bench.take()
        bench.send(.linkLost(.silence))
        while let scan = bench.policy.scan, !scan.order.frequencies.isEmpty { bench.finishScan() }
        #expect(bench.policy.scan?.order.frequencies == [])
    }

    /// Failures before a link was up are forgotten with it.
    // covers: rule/unblock-address
    @Test func aLinkThatWasUpEndsTheCount() {
        var bench = Bench([Self.home, Self.backup])
        bench.start()
        let both = { (bench: Bench) in
            [bench.observation(Self.home, -50), bench.observation(Self.backup, -75, channel: 2437)]
        }
        for _ in 0..<4 {
            _ = join(&bench, both)
            bench.joinFails(.timeout)
            _ = join(&bench) { [$0.observation(Self.home, -50)] }
            bench.joinSucceeds()
            bench.advance(by: .seconds(3))
            bench.send(.linkLost())
        }
        #expect(!bench.take().decisions.contains { $0.kind == .blocked })
    }
}
