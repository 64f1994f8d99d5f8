import AgentModel
import Testing

@testable import Failover

@Suite struct SearchTests {
    // covers: rule/search-ready
    @Test func waitsForInterfaceAndSupplicant() {
        var bench = Bench()
        #expect(bench.take().isEmpty)
        bench.send(.interface(isUp: true))
        #expect(bench.take().isEmpty)
        bench.send(.supplicant(isAvailable: true))
        #expect(bench.take().scans.map(\.frequencies) == [[]])
    }

    @Test func doesNothingWithoutNetworks() {
        var bench = Bench([])
        bench.start()
        bench.advance(by: .seconds(3600))
        #expect(bench.take().isEmpty)
        #expect(bench.policy.nextWake == nil)
    }

    // covers: seed/fallback-at-boot
    @Test func joinsWhatItSeesAtStart() {
        var bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.take().joins.map(\.frequencies) == [[Frequency(megahertz: 2412)]])
        bench.joinSucceeds()
        #expect(bench.isOnline)
        #expect(bench.target == Bench.home)
        #expect(bench.take().decisions.map(\.kind) == [.online])
    }

    // covers: rule/rank-preferred
    @Test func prefersHomeAmongGoodOnesAndTheStrongerAmongBackups() {
        var bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -65), bench.observation(Bench.backup, -40)])
        #expect(bench.target == Bench.home)

        bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.backup, -60), bench.observation(Bench.spare, -45)])
        #expect(bench.target == Bench.spare)

        bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -78), bench.observation(Bench.backup, -60)])
        #expect(bench.target == Bench.backup, "home is weak here")
    }

    // covers: rule/rank-quality
    @Test func takesTheFaintestNetworkRatherThanNone() {
        var bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.spare, -93)])
        #expect(bench.target == Bench.spare)
    }

    @Test func anOpenTwinOfAProtectedNetworkIsNoCandidate() {
        var bench = Bench()
        bench.start()
        bench.finishScan([
            bench.observation(Bench.home, -30, security: .open), bench.observation(Bench.backup, -30, security: .wep),
            bench.observation(Bench.spare, -30, security: .enterprise),
        ])
        #expect(bench.target == nil)
    }

    @Test func oldObservationsAreNotTrusted() {
        var bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -30, age: .seconds(11))])
        #expect(bench.target == nil)
        #expect(bench.take().scans.last?.frequencies == [Frequency(megahertz: 2412)], "but their channel is looked at")
    }

    @Test func everythingMissingAndLaterBack() {
        var bench = Bench.online()
        bench.send(.linkLost())
        for hour in 1...48 {
            bench.advance(by: .seconds(3600))
            // Every scan fails: the radio is deaf.
            while bench.policy.scan != nil { bench.finishScan() }
            #expect(bench.target == nil, "hour \(hour)")
        }
        _ = bench.take()
        #expect(bench.advance(upTo: .seconds(11)) { if case .scan = $0 { true } else { false } })
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home)
    }

    /// While nothing is there, known channels are scanned often and all channels seldom, for ever.
    // covers: rule/lost-search-again, seed/recovery-forever
    @Test func searchSlowsDownButNeverEnds() {
        var bench = Bench.online()
        bench.send(.linkLost())
        var looks: [(Instant, ScanOrder)] = []
        let start = bench.now
        while bench.now - start < .seconds(3600) {
            for order in bench.take().scans { looks.append((bench.now, order)) }
            if bench.policy.scan != nil { bench.finishScan() } else { bench.advance(by: .milliseconds(500)) }
        }
        let full = looks.filter { $0.1.frequencies.isEmpty }
        let quick = looks.filter { !$0.1.frequencies.isEmpty }
        let gaps = zip(quick.dropFirst(), quick).map { $0.0 - $1.0 }
        #expect(gaps.first.map { $0 <= .seconds(3) } == true)
        #expect(gaps.allSatisfy { $0 <= .milliseconds(10_500) })
        let fullGaps = zip(full.dropFirst(), full).map { $0.0 - $1.0 }
        #expect(fullGaps.prefix(3).map { ($0.milliseconds + 500) / 1000 } == [10, 20, 30])
        #expect(fullGaps.last.map { $0 >= .seconds(29) && $0 <= .seconds(32) } == true)
        #expect(full.count >= 15)
    }

    /// A scan of all channels delays scans of the known ones, so a long one is made less often, if there are known
    /// ones.
    // covers: rule/lost-search-again
    @Test(arguments: [true, false]) func aLongFullScanWaitsWhereChannelsAreKnown(isKnown: Bool) {
        var bench = Bench()
        bench.start()
        if isKnown { bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50, age: .seconds(60))])) }
        var starts: [Instant] = []
        while starts.count < 5 {
            if let scan = bench.policy.scan {
                if scan.order.frequencies.isEmpty {
                    starts.append(bench.now)
                    bench.advance(by: .seconds(9))
                }
                bench.finishScan()
            } else {
                bench.advance(by: .milliseconds(500))
            }
        }
        let waits = zip(starts.dropFirst(), starts).map { (($0 - $1).milliseconds + 500) / 1000 }
        #expect(isKnown ? waits.allSatisfy { $0 >= 9 * 6 } : waits == [10, 20, 30, 30])
    }

    // covers: rule/part-scan
    @Test func aScanThatNeverEndsIsGivenUp() {
        var bench = Bench()
        bench.start()
        let first = bench.take().scans
        #expect(first.count == 1)
        bench.advance(by: .seconds(60))
        #expect(bench.take().scans.count >= 1)
    }

    // covers: seed/hidden-networks
    @Test func hiddenNetworksAreCalledByName() {
        let hidden = Bench.network(9, "Hidden", isHidden: true)
        var bench = Bench([Bench.home, hidden])
        bench.start()
        #expect(bench.take().scans.first?.ssids == [hidden.ssid])
    }

    /// A radio can call only a few names in one scan, so each scan begins with another.
    // covers: rule/search-hidden, seed/hidden-networks
    @Test func everyHiddenNetworkGetsItsTurn() {
        let hidden = (1...5).map { Bench.network($0, "Hidden\($0)", isHidden: true) }
        var bench = Bench(hidden)
        bench.start()
        var first: Set<SSID> = []
        for _ in 0..<5 {
            first.formUnion(bench.policy.scan.map { Set($0.order.ssids.prefix(1)) } ?? [])
            bench.finishScan()
            bench.advance(by: .seconds(170))
            while bench.policy.scan == nil { bench.advance(by: .seconds(1)) }
        }
        #expect(first.count > 1)
    }

    @Test func takesUpResultsOfAnotherProgramsScan() {
        var bench = Bench()
        bench.start()
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -50)]))
        #expect(bench.target == Bench.home)
    }

    // covers: rule/search-adopt
    @Test func adoptsTheLinkThatIsThereAtStart() {
        var bench = Bench()
        bench.send(.interface(isUp: true))
        bench.send(.linkFound(Bench.backup.id, Bench.accessPoint(of: Bench.backup.id)))
        bench.send(.supplicant(isAvailable: true))
        #expect(!bench.isOnline, "not before there is an address")
        bench.send(.address(isReady: true))
        let actions = bench.take()
        #expect(bench.isOnline)
        #expect(bench.target == Bench.backup)
        #expect(actions.joins.isEmpty && !actions.isLeaving, "the link must not drop")
    }

    // covers: rule/search-list
    @Test func aNewNetworkIsLookedForAtOnce() {
        var bench = Bench([Bench.home])
        bench.start()
        bench.finishScan()
        bench.advance(by: .seconds(1))
        _ = bench.take()
        bench.send(.networks([Bench.home, Bench.backup]))
        #expect(bench.take().scans.count == 1)
    }

    /// Good, usable and faint come before the preference, and all that before the signal.
    // covers: rule/rank-quality, rule/weak-2ghz
    @Test(arguments: [
        (-70, -40, Bench.home), (-71, -70, Bench.backup), (-80, -71, Bench.home), (-81, -80, Bench.backup),
        (-90, -81, Bench.home),
    ])
    func qualityComesBeforePreference(home: Int, backup: Int, joined: KnownNetwork) {
        var bench = Bench()
        bench.start()
        bench.finishScan([bench.observation(Bench.home, home), bench.observation(Bench.backup, backup)])
        #expect(bench.target == joined)
    }

    // covers: rule/rank-list-order
    @Test func ofEqualNetworksTheFirstInTheListIsJoined() {
        for networks in [[Bench.backup, Bench.spare], [Bench.spare, Bench.backup]] {
            var bench = Bench(networks)
            bench.start()
            bench.finishScan([bench.observation(Bench.backup, -60), bench.observation(Bench.spare, -60)])
            #expect(bench.target == networks[0])
        }
    }

    // covers: rule/lost-search-again
    @Test func afterAnHourAllChannelsAreScannedEveryFiveMinutes() {
        var bench = Bench.online([Bench.home])
        bench.send(.linkLost())
        bench.advance(by: .milliseconds(10))
        var looks: [(at: Duration, isFull: Bool)] = []
        let start = bench.now
        while bench.now - start < .seconds(3 * 3600) {
            looks += bench.take().scans.map { (bench.now - start, $0.frequencies.isEmpty) }
            if bench.policy.scan != nil { bench.finishScan() } else { bench.advance(by: .milliseconds(500)) }
        }
        let late = looks.filter { $0.at > .seconds(4000) }
        let full = late.filter(\.isFull).map(\.at)
        #expect(full.count > 15)
        #expect(zip(full.dropFirst(), full).allSatisfy { (299...311).contains(($0 - $1).components.seconds) })
        let known = late.filter { !$0.isFull }.map(\.at)
        #expect(zip(known.dropFirst(), known).allSatisfy { (9...11).contains(($0 - $1).components.seconds) })
    }
}
