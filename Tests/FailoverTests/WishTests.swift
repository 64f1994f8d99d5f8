import AgentModel
import Testing

@testable import Failover

/// An access point wishes that the device moves to another one of the network, or names others.
@Suite struct WishTests {
    private func far(_ bench: Bench, _ signal: Int, radio: UInt8 = 1) -> BSS {
        bench.observation(Bench.home, signal, channel: 2437, radio: radio)
    }

    private func online() -> Bench {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.advance(by: .seconds(100))
        bench.measure(-50, for: .seconds(3))
        _ = bench.take()
        return bench
    }

    /// The access point in use wishes, and a scan shows this.
    private func wish(_ bench: inout Bench, _ others: [BSS]) {
        bench.send(.transitionRequested)
        if bench.policy.scan != nil { bench.finishScan(others) }
    }

    // covers: rule/transition-request
    @Test func aWishIsFollowedToAGoodAccessPoint() {
        var bench = online()
        wish(&bench, [bench.observation(Bench.home, -50), far(bench, -54), bench.observation(Bench.backup, -30)])
        #expect(bench.targetBSSID == far(bench, 0).bssid, "not to another network, however strong")
        #expect(bench.take().decisions.last { $0.kind == .join }?.cause == .steered)
    }

    // covers: rule/transition-request
    @Test func aWishIsNoReasonForAWorseLink() {
        var bench = online()
        wish(&bench, [bench.observation(Bench.home, -50), far(bench, -62)])
        #expect(bench.isOnline && bench.take().joins.isEmpty)
        // And it is forgotten.
        bench.advance(by: .seconds(15))
        bench.send(.scanned(id: nil, [far(bench, -40)]))
        #expect(bench.take().joins.isEmpty)
    }

    /// The other one wishes it back.
    // covers: rule/transition-request
    @Test func noWishLeadsInACircle() {
        var bench = online()
        wish(&bench, [far(bench, -50)])
        bench.joinSucceeds()
        let there = bench.policy.phase.accessPoint?.bssid
        #expect(there == far(bench, 0).bssid)
        for _ in 0..<8 {
            bench.advance(by: .seconds(61))
            wish(&bench, [bench.observation(Bench.home, -40)])
        }
        #expect(bench.isOnline && bench.policy.phase.accessPoint?.bssid == there)
    }

    /// A flood of wishes is a scan a minute, and a flood of requests three moves in ten minutes, which the history says once.
    // covers: rule/transition-limit
    @Test func requestsOfAnyKindAreFollowedThreeTimes() {
        var bench = online()
        var moves = 0
        var reports = 0
        for round in 0..<9 {
            bench.advance(by: .seconds(62))
            bench.send(.disassociationImminent(within: .seconds(20)))
            if bench.policy.scan != nil { bench.finishScan([far(bench, -50, radio: UInt8(1 + round % 5))]) }
            if bench.policy.attempt != nil {
                moves += 1
                bench.joinSucceeds()
            }
            reports += bench.take().decisions.count { $0.cause == .steeredTooOften }
        }
        #expect(moves == 3 && reports == 1)
    }

    // covers: rule/transition-neighbours
    @Test func theChannelsOfNeighboursAreScannedToo() {
        var bench = online()
        let named = (0..<20).map { Frequency(megahertz: 5180 + 20 * $0) }
        for (index, frequency) in named.enumerated() {
            bench.send(.neighbour(BSSID(bytes: [2, 0, 0, 0, 9, UInt8(index)])!, frequency))
        }
        bench.measure(-85, for: .seconds(2))
        let scanned = Set(bench.policy.scan?.order.frequencies ?? [])
        #expect(scanned.isSuperset(of: named.prefix(8)) && scanned.isDisjoint(with: named.dropFirst(8)))
    }
}
