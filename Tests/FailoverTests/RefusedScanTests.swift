import AgentModel
import Testing

@testable import Failover

/// Scans that the radio refuses say nothing about any network, and keep the device from none that it knows.
@Suite struct RefusedScanTests {
    private static let home = Bench.home
    private static let backup = Bench.backup

    /// A device whose two networks were seen, and whose link is lost while the radio refuses all scans.
    private func lost(joinsUnseen: Bool = true) -> Bench {
        var bench = Bench([Self.home, Self.backup])
        bench.start()
        bench.finishScan([bench.observation(Self.home, -50), bench.observation(Self.backup, -60, channel: 2437)])
        bench.joinSucceeds()
        bench.advance(by: .seconds(60))
        _ = bench.take()
        bench.send(.linkLost(.silence))
        return bench
    }

    /// Goes on until `limit`, refusing every scan.
    /// - Parameter isThere: whether a network that is joined is there at that time.
    private func run(
        _ bench: inout Bench, for limit: Duration, joinsUnseen: Bool = true, joinTime: Duration = .milliseconds(1500),
        isThere: (NetworkID, Instant) -> Bool
    ) {
        let end = bench.now + limit
        while bench.now < end, !bench.isOnline {
            if let scan = bench.policy.scan {
                bench.send(.scanRefused(id: scan.order.id, joinsUnseen: joinsUnseen))
            } else if let attempt = bench.policy.attempt {
                bench.advance(by: joinTime)
                if isThere(attempt.network, bench.now) {
                    bench.joinSucceeds()
                } else {
                    bench.joinFails(.timeout)
                }
            } else {
                bench.advance(by: .milliseconds(50))
            }
        }
    }

    // covers: rule/refused-pause
    @Test func theyAreTriedAgainAfterAGrowingPause() {
        var bench = lost()
        var moments: [Int64] = []
        for _ in 0..<6 {
            while bench.policy.scan == nil { bench.advance(by: .milliseconds(10)) }
            moments.append(bench.now.milliseconds)
            bench.send(.scanRefused(id: bench.policy.scan?.order.id ?? 0, joinsUnseen: false))
        }
        #expect(zip(moments.dropFirst(), moments).map { $0 - $1 } == [1000, 2000, 5000, 10_000, 10_000])
        #expect(bench.policy.refusedScans.count == 6)
    }

    @Test func oneThatWorksEndsTheRun() {
        var bench = lost()
        for _ in 0..<3 {
            while bench.policy.scan == nil { bench.advance(by: .milliseconds(10)) }
            bench.send(.scanRefused(id: bench.policy.scan?.order.id ?? 0, joinsUnseen: false))
        }
        while bench.policy.scan == nil { bench.advance(by: .milliseconds(10)) }
        bench.finishScan([])
        #expect(bench.policy.refusedScans == RefusedScans())
        bench.advance(by: .milliseconds(1100))
        #expect(bench.policy.scan != nil, "and the pace is as before")
    }

    /// Scans are refused for 60 s, and the backup's access point appears after 30.
    // covers: rule/refused-unseen
    @Test(arguments: [500, 1500, 2400])
    func aBackupThatAppearsIsJoinedWithoutAScan(joinTime: Int) {
        var bench = lost()
        let appears = bench.now + .seconds(30)
        run(&bench, for: .seconds(60), joinTime: .milliseconds(joinTime)) { network, now in
            network == Self.backup.id && now >= appears
        }
        #expect(bench.isOnline)
        #expect(bench.target == Self.backup)
        #expect(bench.now - appears <= .seconds(5), "\(bench.now - appears)")
    }

    // covers: rule/refused-unseen
    @Test func theNetworkThatTheDeviceBelongsInComesFirst() throws {
        var bench = lost()
        run(&bench, for: .seconds(10)) { _, _ in false }
        let joins = bench.take().joins
        #expect(Array(joins.map(\.network).prefix(4)) == [1, 2, 1, 2].map { NetworkID($0) })
        let join = try #require(joins.first)
        #expect(join.isUnseen)
        #expect(join.bssid == nil)
        #expect(join.frequencies.map(\.megahertz) == [2412])
        #expect(join.offer == .wpa2)
    }

    // covers: rule/refused-unseen
    @Test func nothingIsHeldAgainstANetworkThatNoScanHasShown() {
        var bench = lost()
        run(&bench, for: .seconds(60)) { _, _ in false }
        #expect(bench.policy.histories.values.allSatisfy { $0.block == nil && $0.lastFailure == nil })
        #expect(!bench.policy.isBlocked(Self.home.id, at: bench.now))
        let kinds = bench.take().decisions.map(\.kind)
        #expect(kinds.count { $0 == .join } == 1, "the history says it once")
        #expect(!kinds.contains(.failed) && !kinds.contains(.blocked))
        // As soon as scans work again, what they show is joined.
        while bench.policy.scan == nil {
            if bench.policy.attempt != nil { bench.joinFails(.timeout) }
            bench.advance(by: .milliseconds(50))
        }
        bench.finishScan([bench.observation(Self.backup, -60, channel: 2437)])
        while bench.policy.attempt?.isUnseen ?? true, bench.policy.scan != nil {
            bench.finishScan([bench.observation(Self.backup, -60, channel: 2437)])
        }
        #expect(bench.policy.attempt?.network == Self.backup.id)
        #expect(bench.policy.attempt?.bssid != nil)
    }

    /// wpa_supplicant scans before it joins, which is refused as well: a join that was begun by what was seen is not waited
    /// for, and nothing is held against its access point.
    @Test func aJoinThatWaitsForAScanIsMadeAnew() throws {
        var bench = Bench([Self.home, Self.backup])
        bench.start()
        bench.finishScan([bench.observation(Self.home, -50)])
        bench.joinSucceeds()
        bench.advance(by: .seconds(30))
        bench.send(.scanned(id: nil, [bench.observation(Self.backup, -60, channel: 2437)]))
        bench.send(.linkLost())
        #expect(bench.policy.attempt?.network == Self.backup.id)
        let start = bench.now
        _ = bench.take()
        while bench.policy.attempt?.isUnseen == false, bench.now - start < .seconds(10) {
            if let scan = bench.policy.scan {
                bench.send(.scanRefused(id: scan.order.id, joinsUnseen: true))
            } else {
                bench.advance(by: .milliseconds(50))
            }
        }
        #expect(bench.now - start <= .seconds(4), "\(bench.now - start)")
        #expect(bench.take().joins.last?.network == Self.backup.id)
        #expect(bench.policy.histories[Self.backup.id]?.block == nil)
        bench.joinSucceeds()
        #expect(bench.target == Self.backup)
    }

    @Test func aWrongPasswordIsOne() {
        var bench = lost()
        while bench.policy.attempt == nil {
            if let scan = bench.policy.scan { bench.send(.scanRefused(id: scan.order.id, joinsUnseen: true)) }
            bench.advance(by: .milliseconds(50))
        }
        bench.joinFails(.wrongKey)
        #expect(bench.take().decisions.contains { $0.kind == .failed && $0.cause == .failure(.wrongKey) })
    }

    /// A radio under mac80211 has nothing to join without a scan.
    @Test func aRadioThatCannotIsNotToldTo() {
        var bench = lost()
        run(&bench, for: .seconds(60), joinsUnseen: false) { _, _ in true }
        #expect(!bench.isOnline)
        #expect(bench.take().joins == [])
    }

    /// The driver says EAGAIN while it still ends a join.
    @Test func aSingleRefusalIsNoReason() {
        var bench = lost()
        while bench.policy.scan == nil { bench.advance(by: .milliseconds(10)) }
        bench.send(.scanRefused(id: bench.policy.scan?.order.id ?? 0, joinsUnseen: true))
        bench.advance(by: .milliseconds(990))
        #expect(bench.take().joins == [])
        bench.advance(by: .milliseconds(20))
        #expect(bench.policy.scan != nil)
    }

    /// Of a scan that was refused on a living link nothing comes but a pause.
    @Test func aLivingLinkIsLeftAlone() {
        var bench = Bench.online([Self.home, Self.backup])
        bench.send(.signal(-75))
        for _ in 0..<40 {
            bench.measure(-75, for: .seconds(5))
            if let scan = bench.policy.scan { bench.send(.scanRefused(id: scan.order.id, joinsUnseen: true)) }
        }
        #expect(bench.isOnline)
        #expect(bench.take().joins == [])
    }

    /// After five minutes each round is begun a little later, as scans are.
    @Test func itIsDoneWithPatience() {
        var bench = lost()
        run(&bench, for: .seconds(3600), joinTime: .milliseconds(300)) { _, _ in false }
        _ = bench.take()
        run(&bench, for: .seconds(60), joinTime: .milliseconds(300)) { _, _ in false }
        #expect(bench.take().joins.count <= 14)
    }
}
