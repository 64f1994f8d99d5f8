import AgentModel
import Testing

@testable import Failover

/// Links with signal and address that lead nowhere, or to a login page.
@Suite struct UsefulnessTests {
    static var settings: PolicySettings {
        var settings = PolicySettings()
        settings.validation = PolicySettings.Validation()
        return settings
    }

    static func online(_ networks: [KnownNetwork] = [Bench.home, Bench.backup], _ result: ProbeResult = .online)
        -> Bench
    {
        var bench = Bench.online(networks, settings: settings)
        bench.probeEnds(result)
        bench.advance(by: .seconds(3))
        if bench.policy.scan != nil { bench.finishScan(networks.map { bench.observation($0, -60) }) }
        _ = bench.take()
        return bench
    }

    /// Three probes in a row fail.
    static func internetDies(_ bench: inout Bench) {
        bench.advance(by: .seconds(30))
        for _ in 1...3 {
            bench.probeEnds(.failed)
            bench.advance(by: .seconds(1))
        }
    }

    // covers: rule/probe-interval
    @Test func aNetworkIsProbedWhenItIsUpAndThenAtAnInterval() {
        var bench = Bench.online([Bench.home], settings: Self.settings)
        #expect(bench.policy.phase.network == Bench.home.id)
        bench.probeEnds(.online)
        // Less than a probe may take: those that come every 30 s are not overdue then.
        bench.advance(by: .seconds(2))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        _ = bench.take()
        var probes = 0
        for _ in 1...120 {
            bench.advance(by: .seconds(30))
            let count = bench.take().probes
            probes += count
            if count > 0 { bench.probeEnds(.online) }
        }
        #expect((119...121).contains(probes), "\(probes) in an hour")
    }

    @Test func withoutAProberNothingIsProbed() {
        var bench = Bench.online([Bench.home])
        bench.advance(by: .seconds(3600))
        #expect(bench.take().probes == 0)
        bench.send(.probed(epoch: bench.policy.epoch, .failed))
        bench.send(.probed(epoch: bench.policy.epoch, .captive))
        #expect(bench.take().decisions.isEmpty)
    }

    // covers: rule/no-internet-leave, seed/leave-no-internet
    @Test func deadInternetIsLeftForANetworkThatIsSound() throws {
        var bench = Self.online()
        Self.internetDies(&bench)
        let found = bench.take()
        #expect(found.decisions.last { $0.kind == .unusable }?.cause == .failure(.noInternet))
        #expect(found.scans.last?.reason == .unusable)
        bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -70)])
        #expect(bench.target == Bench.backup, "full signal is worth nothing")
        let join = try #require(bench.take().decisions.last { $0.kind == .join })
        #expect(join.cause == .failure(.noInternet))
        bench.joinSucceeds()
        bench.probeEnds(.online)
        #expect(bench.isOnline)
    }

    // covers: rule/no-internet-stay
    @Test func aDeviceIsStrandedWhereNothingElseCanBeTried() {
        var bench = Self.online()
        Self.internetDies(&bench)
        #expect(bench.policy.noInternetSince != nil)
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.policy.isStranded(at: bench.now))
        bench.send(.otherUplink(.wired))
        #expect(!bench.policy.isStranded(at: bench.now))
        bench.send(.otherUplink(nil))
        #expect(bench.policy.isStranded(at: bench.now))
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50, radio: 1)]))
        #expect(bench.target == Bench.home && !bench.policy.isStranded(at: bench.now), "its other access point is next")
        bench.joinSucceeds()
        bench.probeEnds(.online)
        #expect(bench.policy.noInternetSince == nil)
    }

    /// The device could not join it again.
    @Test func aNetworkThatIsNotStoredIsNotLeft() {
        var bench = Self.online([Bench.home])
        bench.send(.networks([Bench.backup]))
        Self.internetDies(&bench)
        #expect(bench.policy.noInternetSince != nil && !bench.policy.isStranded(at: bench.now))
    }

    @Test func oneProbeThatFailsIsNoReason() {
        var bench = Self.online()
        for _ in 1...20 {
            bench.advance(by: .seconds(29))
            for result in [ProbeResult.failed, .failed, .online, .online, .online, .online, .online] {
                bench.probeEnds(result)
                bench.advance(by: .seconds(1))
            }
        }
        #expect(!bench.take().decisions.contains { $0.kind == .unusable })
        #expect(bench.target == Bench.home)
    }

    // covers: rule/probe-interval
    @Test func aProbeThatIsNeverAnsweredHasFailed() {
        var bench = Self.online()
        bench.advance(by: .seconds(30 + 3 * 3 + 2 * 1 + 1))
        #expect(bench.take().decisions.contains { $0.kind == .unusable })
    }

    // covers: rule/no-internet-stay
    @Test func deadInternetIsStayedOnWhereNothingElseIsThere() {
        var bench = Self.online([Bench.home])
        Self.internetDies(&bench)
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        #expect(bench.isOnline, "the local network still works")
        #expect(bench.take().decisions.last?.kind == .stay)
        bench.advance(by: .seconds(30))
        for _ in 1...3 {
            #expect(!bench.take().decisions.contains { $0.kind == .usable }, "one answer may be luck")
            bench.probeEnds(.online)
            bench.advance(by: .seconds(1))
        }
        #expect(bench.take().decisions.last?.kind == .usable)
    }

    // covers: rule/no-internet-block
    @Test func aNetworkWithoutInternetIsReturnedToLater() {
        var bench = Self.online()
        Self.internetDies(&bench)
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        let left = bench.now
        for _ in 1...1200 where bench.isOnline {
            bench.advance(by: .seconds(1))
            bench.probeEnds(.online)
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        }
        #expect(bench.target == Bench.home)
        #expect(bench.now - left >= .seconds(270), "not before its back-off is over")
        bench.joinSucceeds()
        // Still dead: one probe is enough this time, and the next return is twice as far away.
        bench.probeEnds(.failed)
        bench.advance(by: .seconds(10))
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -60)]) }
        #expect(bench.target == Bench.backup)
        bench.joinSucceeds()
        bench.probeEnds(.online)
        let leftAgain = bench.now
        for _ in 1...3000 where bench.isOnline {
            bench.advance(by: .seconds(1))
            bench.probeEnds(.online)
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        }
        #expect(bench.now - leftAgain >= .seconds(570))
    }

    /// The same failed for both of them, and it is mended for home first.
    // covers: rule/no-internet-turns
    @Test func whereAllLeadNowhereTheyTakeTurns() {
        var bench = Self.online()
        Self.internetDies(&bench)
        let died = bench.now
        var turns: [KnownNetwork] = []
        while bench.now - died < .seconds(600) {
            bench.advance(by: .milliseconds(500))
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -60)])
            }
            if bench.policy.attempt != nil {
                if let target = bench.target { turns.append(target) }
                bench.joinSucceeds()
            }
            if bench.isOnline { bench.probeEnds(.failed) }
        }
        #expect(turns.prefix(3) == [Bench.backup, Bench.home, Bench.backup])
        #expect((4...8).contains(turns.count), "20, 40, 80 s and so on: \(turns.count)")
    }

    // covers: rule/no-internet-leave
    @Test func aLoginPageIsLeftForAnOpenWayOut() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        bench.probeEnds(.captive)
        #expect(bench.take().decisions.last { $0.kind == .unusable }?.cause == .failure(.captive))
        bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -75)])
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/rank-reputation, seed/captive-reported
    @Test func aCaptiveNetworkIsNotChosenOverASoundOne() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        bench.probeEnds(.captive)
        bench.finishScan([bench.observation(Bench.backup, -75)])
        bench.joinSucceeds()
        bench.probeEnds(.online)
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.attempt == nil {
            bench.finishScan([bench.observation(Bench.home, -30), bench.observation(Bench.backup, -85)])
        }
        #expect(bench.target == Bench.backup)
        bench.joinFails(.rejected)
        #expect(bench.target == Bench.home, "rather than none")
    }

    @Test func withBothDeadTheDeviceDoesNotDance() {
        var bench = Self.online()
        var joins = 0
        let start = bench.now
        while bench.now - start < .seconds(3600) {
            bench.advance(by: .seconds(1))
            bench.probeEnds(.failed)
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -55)])
            }
            if bench.policy.attempt != nil {
                joins += 1
                bench.joinSucceeds()
            }
        }
        #expect((1...16).contains(joins), "\(joins) in an hour")
    }

    /// Interference lets some through: three of the last five failed.
    // covers: rule/no-internet-verdict
    @Test func aProbeThatGetsThroughNowAndThenProvesNothing() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        for result in [ProbeResult.failed, .online, .failed, .online] {
            bench.probeEnds(result)
            bench.advance(by: .seconds(1))
        }
        #expect(!bench.take().decisions.contains { $0.kind == .unusable })
        bench.probeEnds(.failed)
        #expect(bench.take().decisions.contains { $0.kind == .unusable })
    }

    // covers: rule/no-internet-verdict
    @Test func internetThatComesAndGoesIsNotTrustedAtOnce() {
        var bench = Self.online([Bench.home])
        Self.internetDies(&bench)
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        bench.advance(by: .seconds(30))
        for _ in 1...3 {
            bench.probeEnds(.online)
            bench.advance(by: .seconds(1))
        }
        #expect(bench.take().decisions.last?.kind == .usable)
        for _ in 1...600 {
            bench.advance(by: .seconds(1))
            bench.probeEnds(.online)
        }
        #expect(!bench.take().decisions.contains { $0.kind == .unusable })
        while bench.take().probes == 0 { bench.advance(by: .seconds(1)) }
        bench.probeEnds(.failed)
        #expect(bench.take().decisions.contains { $0.kind == .unusable }, "one failure is enough this soon")
    }

    /// If the known places show nothing, all channels are scanned, also for a network that is new in the list.
    // covers: rule/scan-while-critical
    @Test func aWayOutIsLookedForEverywhere() {
        var bench = Self.online([Bench.home])
        Self.internetDies(&bench)
        bench.send(.networks([Bench.home, Bench.spare]))
        let start = bench.now
        var isFull = false
        while bench.now - start < .seconds(60), !isFull {
            isFull = bench.policy.scan?.order.frequencies.isEmpty ?? false
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.home, -60, radio: 1)])
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect(isFull)
    }

    // covers: rule/no-internet-scan
    @Test func aWayOutIsKnownByTheVerdict() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        for _ in 1...2 {
            #expect(bench.policy.scan == nil)
            bench.probeEnds(.failed)
            bench.advance(by: .seconds(1))
        }
        #expect(bench.policy.scan.map { $0.order.frequencies.isEmpty } == false, "before the third")
        bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -70)])
        #expect(bench.isOnline)
        bench.probeEnds(.failed)
        #expect(bench.target == Bench.backup, "without another scan")
    }

    /// A probe failed, and then a target fell silent: the next probe may be the last.
    // covers: rule/no-internet-scan
    @Test func aDoubtIsAReasonToLookAroundTwice() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        bench.probeEnds(.failed)
        bench.send(.doubted(epoch: bench.policy.epoch))
        let usual = Frequency.withUsual([Frequency(megahertz: 2412)])
        #expect(bench.take().scans.map(\.frequencies) == [usual])
        bench.finishScan([bench.observation(Bench.home, -40)])
        #expect(bench.take().scans.map(\.frequencies) == [usual], "a scan may miss a network")
        bench.finishScan([bench.observation(Bench.home, -40)])
        #expect(bench.policy.scan == nil)
    }

    // covers: rule/no-internet-scan
    @Test func whereTheWayOutIsInSightNothingIsScanned() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -40), bench.observation(Bench.backup, -60)]))
        bench.probeEnds(.failed)
        bench.send(.doubted(epoch: bench.policy.epoch))
        #expect(bench.take().scans.isEmpty)
    }

    /// A second access point of the network leads to the same router.
    // covers: rule/no-internet-scan
    @Test func anotherAccessPointOfTheNetworkIsNoWayOut() {
        var bench = Self.online()
        bench.advance(by: .seconds(27))
        let both = [bench.observation(Bench.home, -40), bench.observation(Bench.home, -41, radio: 1)]
        bench.send(.scanned(id: nil, both))
        bench.probeEnds(.failed)
        bench.send(.doubted(epoch: bench.policy.epoch))
        #expect(!bench.take().scans.isEmpty)
    }

    /// A link that loses every third probe, and nothing else is there.
    // covers: rule/no-internet-scan
    @Test func aLinkThatFailsNowAndThenIsNotScannedForEachFailure() {
        var bench = Self.online([Bench.home])
        bench.advance(by: .seconds(27))
        _ = bench.take()
        var scans = 0
        for round in 1...600 {
            bench.probeEnds(round % 3 == 1 ? .failed : .online)
            bench.advance(by: .seconds(1))
            scans += bench.take().scans.count
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -40)]) }
        }
        #expect((2...12).contains(scans), "\(scans) in ten minutes")
    }

    // covers: rule/no-internet-scan
    @Test func whereKnownChannelsHaveNoWayOutTheRestIsScannedAtOnce() {
        var bench = Self.online()
        Self.internetDies(&bench)
        let verdict = bench.now
        #expect(bench.policy.scan.map { Set(Frequency.usual).isSubset(of: $0.order.frequencies) } ?? false)
        while bench.policy.scan?.order.frequencies.isEmpty == false {
            bench.finishScan([bench.observation(Bench.home, -40)])
        }
        #expect(bench.policy.scan?.order.frequencies == [])
        #expect(bench.now == verdict)
        // The next ones keep their distance.
        bench.finishScan([bench.observation(Bench.home, -40)])
        #expect(bench.policy.scan == nil)
    }

    /// A move to the backup failed, and its block of a minute has begun. Without internet at home it is tried again.
    // covers: rule/unblock-needed
    @Test(arguments: [(JoinFailure.notFound, true), (.wrongKey, false)])
    func withoutInternetAFirstFailureDoesNotCount(_ failure: JoinFailure, _ isTried: Bool) {
        var bench = Self.online()
        func both() -> [BSS] { [bench.observation(Bench.home, -60), bench.observation(Bench.backup, -50)] }
        func backHome() {
            bench.joinFails(failure)
            while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.home, -60)]) }
            bench.joinSucceeds()
            #expect(bench.target == Bench.home)
        }
        bench.measure(-79, for: .seconds(20))
        while bench.policy.attempt == nil { bench.finishScan(both()) }
        #expect(bench.target == Bench.backup)
        backHome()
        bench.probeEnds(.online)
        Self.internetDies(&bench)
        while bench.policy.scan != nil { bench.finishScan(both()) }
        #expect((bench.target == Bench.backup) == isTried)
        guard isTried else { return }
        backHome()
        bench.probeEnds(.failed)
        while bench.policy.scan != nil { bench.finishScan(both()) }
        #expect(bench.target == Bench.home, "a second failure counts")
    }

    @Test func answersToOldProbesAreDropped() {
        var bench = Self.online()
        let old = bench.policy.epoch
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        while bench.policy.attempt == nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        bench.joinSucceeds()
        bench.send(.probed(epoch: old, .captive))
        #expect(!bench.take().decisions.contains { $0.kind == .unusable })
    }
}
