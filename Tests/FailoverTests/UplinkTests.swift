import AgentModel
import Testing

@testable import Failover

/// A cable or a modem carries the traffic: Wi-Fi stays ready and otherwise still.
@Suite struct UplinkTests {
    // covers: rule/uplink-rest
    @Test(arguments: [Uplink.wired, .cellular])
    func aWeakLinkIsNotLeftWhileAnotherUplinkCarriesTheTraffic(uplink: Uplink) {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.advance(by: .seconds(3))
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.send(.otherUplink(uplink))
        _ = bench.take()
        for _ in 1...50 {
            bench.measure(-88, for: .seconds(10))
            bench.send(.scanned(id: nil, [bench.observation(Bench.backup, -40)]))
        }
        let actions = bench.take()
        #expect(bench.isOnline && bench.target == Bench.home)
        #expect(actions.scans.isEmpty && actions.joins.isEmpty)
    }

    @Test func whenTheCableIsPulledAWeakLinkIsLeftAtOnce() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.otherUplink(.wired))
        bench.measure(-88, for: .seconds(30))
        bench.send(.otherUplink(nil))
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -50)]) }
        #expect(bench.target == Bench.backup)
    }

    // covers: rule/uplink-rest
    @Test func wiFiIsJoinedAgainWithoutHurry() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.otherUplink(.wired))
        bench.send(.linkLost())
        _ = bench.take()
        var scans = 0
        let start = bench.now
        while bench.now - start < .seconds(600) {
            if bench.policy.scan != nil {
                scans += 1
                bench.finishScan()
            }
            bench.advance(by: .milliseconds(500))
        }
        #expect((10...90).contains(scans), "\(scans) in ten minutes")
        bench.advance(by: .seconds(10))
        bench.finishScan([bench.observation(Bench.home, -50)])
        #expect(bench.target == Bench.home, "ready for when the cable is pulled")
    }

    @Test func aCommandIsStillObeyed() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.otherUplink(.cellular))
        bench.send(.switchTo(Bench.backup.id, id: 1))
        bench.finishScan([bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        #expect(bench.target == Bench.backup)
    }

    @Test func homeIsNotReturnedToMeanwhile() {
        var bench = PreferredTests.away()
        bench.send(.otherUplink(.wired))
        #expect(PreferredTests.look(&bench, home: -40, for: .seconds(600)).isEmpty)
        #expect(bench.target == Bench.backup)
        bench.send(.otherUplink(nil))
        _ = PreferredTests.look(&bench, home: -40, for: .seconds(200))
        #expect(bench.target == Bench.home)
    }

    /// Settings that change at the moment at which a cable is plugged in order no scan, which the cable makes needless.
    @Test func anUplinkCountsBeforeNewSettings() {
        var bench = Bench.online([Bench.backup, Bench.home])
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -60, channel: 5180)]))
        var settings = PolicySettings()
        settings.margin = 12
        bench.send([.settings(settings), .otherUplink(.wired)])
        #expect(bench.take().scans == [])
        #expect(bench.policy.settings.margin == 12)
    }
}
