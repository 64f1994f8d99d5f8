import AgentModel
import Testing

@testable import Failover

@Suite struct WeakTests {
    @Test func aGoodLinkCostsNothing() {
        var bench = Bench.online([Bench.home])
        bench.measure(-55, for: .seconds(3600), every: .seconds(30))
        #expect(bench.take().isEmpty)
        #expect(
            bench.policy.nextWake.map { $0 - bench.now > .seconds(80_000) } == true, "all channels were just scanned")
    }

    // covers: rule/scan-unseen
    @Test func networksNeverSeenAreRarelyScannedFor() {
        var bench = Bench.online()
        var scans: [Instant] = []
        let start = bench.now
        while bench.now - start < .seconds(24 * 3600) {
            bench.advance(by: .seconds(1))
            for order in bench.take().scans {
                #expect(order.reason == .unseen && order.frequencies.isEmpty)
                scans.append(bench.now)
            }
            if bench.policy.scan != nil { bench.finishScan() }
        }
        #expect(scans.first.map { $0 - start <= .seconds(3) } == true)
        #expect((8...12).contains(scans.count), "\(scans.count) in a day")

        bench = Bench.online([Bench.home, Bench.backup])
        bench.advance(by: .seconds(3))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        _ = bench.take()
        bench.advance(by: .seconds(24 * 3600 - 1))
        #expect(bench.take().isEmpty, "where everything was seen, once a day")
        bench.advance(by: .seconds(2))
        #expect(bench.take().scans.map(\.reason) == [.unseen])
    }

    // covers: rule/lost-all-channels
    @Test func aLostLinkCutsAScanForUnseenNetworksShort() {
        var bench = Bench.online()
        bench.advance(by: .seconds(3))
        #expect(bench.take().scans.map(\.reason) == [.unseen])
        bench.send(.linkLost())
        #expect(bench.take().contains(.cancelScan))
        bench.send(.scanFailed(id: bench.policy.scan?.order.id ?? 0))
        #expect(bench.take().scans.map(\.reason) == [.offline])
    }

    // covers: rule/leave-age, seed/leave-weak
    @Test func aCriticalLinkIsLeftAfterTenSeconds() throws {
        var bench = Bench.online()
        bench.send(.signal(-85))
        #expect(bench.take().scans.count == 1, "see what else there is")
        bench.finishScan([bench.observation(Bench.backup, -70)])
        bench.measure(-85, for: .seconds(9))
        #expect(bench.target == Bench.home)
        bench.measure(-85, for: .milliseconds(2500))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -70)]) }
        #expect(bench.target == Bench.backup)
        let join = try #require(bench.take().decisions.last { $0.kind == .join })
        #expect(join.cause == .critical)
        #expect(join.signal == -85)
        #expect(join.from == Bench.home.ssid)
    }

    // covers: rule/candidate-seen
    @Test func aWeakLinkIsLeftOnlyForWhatIsStillThere() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.measure(-85, for: .milliseconds(2500))
        bench.send(.scanned(id: bench.policy.scan?.order.id, [bench.observation(Bench.backup, -40)]))
        bench.measure(-85, for: .milliseconds(7000))
        #expect(bench.target == Bench.home, "it was seen before the weakness was confirmed")
        while bench.policy.scan != nil { bench.finishScan() }
        #expect(bench.target == Bench.home)
    }

    /// The first scan showed the target: before the device goes there, it scans that channel again and not all.
    // covers: rule/scan-paid
    // covers: rule/leave-age, rule/scan-channels
    @Test func whatWasJustSeenIsLookedForWhereItWas() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -60, channel: 2462)]))
        bench.send(.signal(-85))
        bench.finishScan([bench.observation(Bench.backup, -60, channel: 2462)])
        _ = bench.take()
        bench.measure(-85, for: .seconds(6), every: .seconds(1))
        let scans = bench.take().scans
        #expect(scans.map(\.frequencies) == [[2412, 2462].map { Frequency(megahertz: $0) }])
        bench.finishScan([bench.observation(Bench.backup, -60, channel: 2462)])
        #expect(bench.policy.attempt?.network == nil, "ten seconds have to pass on a link this young")
        bench.measure(-85, for: .seconds(10), every: .seconds(1))
        if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -60, channel: 2462)]) }
        #expect(bench.target == Bench.backup)
    }

    /// The risk costs 0.02 s by the second, and the move 0.9 s.
    // covers: rule/weak-risk, rule/price-move, rule/leave-paid, seed/signal-weak
    @Test(arguments: [-71, -74, -77]) func aWeakLinkIsLeftWithinAMinute(signal: Int) {
        var bench = Bench.online()
        let start = bench.now
        while bench.target == Bench.home, bench.now - start < .seconds(3600) {
            bench.measure(signal, for: .seconds(5))
            bench.send(.scanned(id: bench.policy.scan?.order.id, [bench.observation(Bench.backup, signal + 10)]))
        }
        #expect(bench.target == Bench.backup)
        #expect((30...60).contains((bench.now - start).components.seconds), "\(bench.now - start)")
    }

    /// What is a little better, and that now and then, is never worth a move.
    @Test func noiseAboutNothingIsNotAddedUp() {
        var bench = Bench.online()
        for round in 0..<2000 {
            bench.measure(round.isMultiple(of: 2) ? -74 : -71, for: .seconds(5))
            bench.send(.scanned(id: bench.policy.scan?.order.id, [bench.observation(Bench.backup, -72)]))
        }
        #expect(bench.target == Bench.home)
    }

    @Test func aMomentOfWeaknessIsForgiven() {
        var bench = Bench.online()
        for _ in 1...20 {
            bench.measure(-85, for: .seconds(4))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -70)]) }
            bench.send(.signal(-65))
        }
        #expect(bench.target == Bench.home)
        #expect(bench.isOnline)
    }

    /// Two bad samples, a minute of silence, and a middling one: that is no minute of weakness.
    // covers: rule/weak-samples
    @Test func silenceConfirmsNothing() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.signal(-84))
        bench.advance(by: .seconds(1))
        bench.send(.signal(-84))
        if bench.policy.scan != nil { bench.finishScan() }
        bench.advance(by: .seconds(66))
        bench.send(.signal(-69))
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -60)]) }
        #expect(bench.target == Bench.home)
    }

    // covers: rule/candidate-margin
    @Test(arguments: [(-76, -69, false), (-76, -68, true), (-81, -80, false), (-82, -80, true)])
    func theMarginDecides(own: Int, other: Int, moves: Bool) {
        var bench = Bench.online()
        for _ in 1...12 where bench.target == Bench.home {
            bench.measure(own, for: .seconds(5))
            bench.send(.scanned(id: bench.policy.scan?.order.id, [bench.observation(Bench.backup, other)]))
        }
        #expect((bench.target == Bench.backup) == moves)
    }

    // covers: rule/candidate-minimum, rule/stay-reported
    @Test func belowTheFloorIsNoCandidate() throws {
        var bench = Bench.online()
        bench.measure(-92, for: .seconds(12))
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -81)]) }
        #expect(bench.target == Bench.home)
        let stay = try #require(bench.take().decisions.last { $0.kind == .stay })
        #expect(stay.considered.contains { $0.ssid == Bench.backup.ssid && $0.verdict == .belowFloor })
    }

    @Test func staysOnAWeakLinkWhenNothingElseIsThereAndKeepsLooking() {
        var bench = Bench.online()
        var scans = 0
        for _ in 1...600 {
            bench.send(.signal(-75))
            scans += bench.take().scans.count
            if bench.policy.scan != nil { bench.finishScan() }
            bench.advance(by: .milliseconds(2500))
        }
        #expect(bench.target == Bench.home)
        #expect((8...14).contains(scans), "\(scans) scans in 25 minutes")
    }

    // covers: rule/block-failed-move
    @Test func aFailedMoveEndsWhereItStarted() {
        var bench = Bench.online()
        bench.measure(-85, for: .seconds(12))
        bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -50), bench.observation(Bench.home, -85)]))
        #expect(bench.target == Bench.backup)
        bench.joinFails(.rejected)
        #expect(bench.policy.histories[Bench.backup.id]?.block?.until == bench.now + .seconds(60))
        #expect(bench.target == Bench.home)
        bench.joinSucceeds()
        #expect(bench.target == Bench.home)
    }

    // covers: rule/limit-moves
    @Test func livingLinksAreNotLeftAllTheTime() {
        var bench = Bench.online([Bench.home, Bench.backup])
        var moves = 0
        let start = bench.now
        while bench.now - start < .seconds(240) {
            bench.send(.signal(-90))
            let other = bench.target == Bench.home ? Bench.backup : Bench.home
            bench.send(.scanned(id: nil, [bench.observation(other, -50)]))
            if bench.policy.attempt != nil {
                moves += 1
                bench.joinSucceeds()
            }
            bench.advance(by: .milliseconds(2500))
        }
        #expect(moves <= 6)
    }

    // covers: rule/weak-5ghz
    @Test func fiveGigahertzHasItsOwnThresholds() {
        var bench = Bench()
        bench.start()
        bench.finishScan(
            [Bench.home, Bench.backup, Bench.spare].map {
                bench.observation($0, $0 == Bench.home ? -60 : -70, channel: 5180)
            }
        )
        bench.joinSucceeds(frequency: 5180)
        _ = bench.take()
        bench.measure(-75, for: .seconds(120))
        #expect(bench.take().isEmpty, "-75 dBm is not weak on 5 GHz")
    }
}
