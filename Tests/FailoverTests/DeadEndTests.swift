import AgentModel
import Testing

@testable import Failover

/// Access points over which a network leads nowhere, beside others of it that may have a way out of their own.
@Suite struct DeadEndTests {
    private static func observations(_ bench: Bench, siblings: [(radio: UInt8, signal: Int)], backup: Int? = nil)
        -> [BSS]
    {
        [bench.observation(Bench.home, -50)]
            + siblings.map { bench.observation(Bench.home, $0.signal, channel: 2437, radio: $0.radio) }
            + (backup.map { [bench.observation(Bench.backup, $0)] } ?? [])
    }

    /// Home is useless, and the scan that follows has found this.
    private static func dead(siblings: [(radio: UInt8, signal: Int)], backup: Int? = nil) -> Bench {
        var bench = UsefulnessTests.online()
        UsefulnessTests.internetDies(&bench)
        bench.finishScan(observations(bench, siblings: siblings, backup: backup))
        return bench
    }

    // covers: rule/no-internet-other-bssid
    @Test func aSiblingIsTriedWhereNothingElseIsThere() {
        var bench = Self.dead(siblings: [(1, -60)])
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 1).bssid)
        bench.joinSucceeds()
        bench.probeEnds(.online)
        bench.advance(by: .seconds(1))
        #expect(bench.isOnline && bench.target == Bench.home)
    }

    // covers: rule/no-internet-other-bssid
    @Test func aGoodLinkToASoundNetworkIsFirst() {
        #expect(Self.dead(siblings: [(1, -45)], backup: -65).target == Bench.backup)
    }

    // covers: rule/no-internet-other-bssid
    @Test func aGoodSiblingIsBeforeAPoorLinkElsewhere() {
        #expect(Self.dead(siblings: [(1, -60)], backup: -78).target == Bench.home)
        #expect(Self.dead(siblings: [(1, -78)], backup: -78).target == Bench.backup)
    }

    // covers: rule/no-internet-other-bssid
    @Test func aFaintSiblingIsNotTried() {
        let bench = Self.dead(siblings: [(1, -85)])
        #expect(bench.isOnline && bench.targetBSSID == bench.observation(Bench.home, 0).bssid)
    }

    /// Three in a row: names are free to take.
    // covers: rule/no-internet-other-bssid
    @Test func siblingsAreTriedThreeTimesAtMost() {
        let siblings = (1...6).map { (radio: UInt8($0), signal: -60) }
        var bench = Self.dead(siblings: siblings)
        var tried: Set<BSSID> = []
        for _ in 1...60 {
            if let attempt = bench.policy.attempt {
                attempt.bssid.map { _ = tried.insert($0) }
                bench.joinSucceeds()
                bench.probeEnds(.failed)
            }
            if bench.policy.scan != nil { bench.finishScan(Self.observations(bench, siblings: siblings)) }
            bench.advance(by: .seconds(1))
        }
        // By its turn, the first one was tried again.
        #expect(tried.subtracting([bench.observation(Bench.home, 0).bssid]).count == 3)
    }

    /// Home was left because of one of its access points, and the next return is to the other one, though that is weaker.
    // covers: rule/no-internet-other-bssid
    @Test func theReturnIsToAnotherAccessPoint() {
        var bench = Self.dead(siblings: [(1, -58)], backup: -60)
        #expect(bench.target == Bench.backup)
        bench.joinSucceeds()
        for _ in 1...900 where bench.target == Bench.backup {
            bench.advance(by: .seconds(1))
            bench.probeEnds(.online)
            if bench.policy.scan != nil {
                bench.finishScan(Self.observations(bench, siblings: [(1, -58)], backup: -60))
            }
        }
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 1).bssid)
        // The first one is not gone to from there, however strong it is, before its time is over.
        bench.joinSucceeds()
        bench.probeEnds(.online)
        bench.measure(-72, for: .seconds(120))
        #expect(bench.targetBSSID == bench.observation(Bench.home, 0, radio: 1).bssid)
    }

    /// A mesh node without its uplink is not returned to at the same pace for ever.
    // covers: rule/no-internet-other-bssid
    @Test func eachTimeItIsLeftAloneForTwiceAsLong() {
        var history = NetworkHistory()
        let settings = PolicySettings()
        var now = Instant(milliseconds: 1000)
        let (one, other) = (Bench.accessPoint(of: Bench.home.id).bssid, Bench.accessPoint(of: Bench.backup.id).bssid)
        for wait in [600, 1200, 2400, 4800] {
            history.wasUseless(.noInternet, over: one, at: now, settings: settings)
            history.wasUseful(over: other, at: now + .seconds(1))
            now = now + .seconds(wait)
            #expect(history.reputation(of: one, at: now - .seconds(1)) != .sound)
            #expect(history.reputation(of: one, at: now) == .sound)
        }
    }

    /// A second access point that leads nowhere as well makes the network's own block no longer.
    // covers: rule/no-internet-other-bssid
    @Test func theBlockIsOfTheNetworksFirstTime() {
        var history = NetworkHistory()
        let settings = PolicySettings()
        let start = Instant(milliseconds: 1000)
        let (one, other) = (Bench.accessPoint(of: Bench.home.id).bssid, Bench.accessPoint(of: Bench.backup.id).bssid)
        history.wasUseless(.noInternet, over: one, at: start, settings: settings)
        let until = history.uselessness?.until
        #expect(history.reputation(of: one, at: start) == .useless)
        #expect(history.reputation(of: other, at: start) == .suspect)
        history.wasUseless(.noInternet, over: other, at: start + .seconds(4), settings: settings)
        #expect(history.uselessness?.until == until)
        #expect(history.reputation(of: other, at: start + .seconds(4)) == .useless)
        // It leads somewhere over the other: the first one is held to be useless for its time, and comes later for as long again.
        history.wasUseful(over: other, at: start + .seconds(30))
        #expect(history.reputation(of: other, at: start + .seconds(30)) == .sound)
        #expect(history.reputation(of: one, at: start + .seconds(30)) == .useless)
        #expect(history.reputation(of: one, at: start + .seconds(400)) == .suspect)
        #expect(history.reputation(of: one, at: start + .seconds(700)) == .sound)
    }
}
